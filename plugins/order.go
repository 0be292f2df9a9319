package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrOrder is a list of names that is not that of the policies in the set.
var ErrOrder = errors.New("an order names every policy once")

// Order puts the chain into another order. names are those of all policies that List shows. It returns when that is so.
func (h *Host) Order(ctx context.Context, names []string) error {
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("order policies: %w", err)
	}
	defer release(h.changing)
	c := h.compose()
	present := make([]string, len(c.slots))
	for i, s := range c.slots {
		present[i] = s.name
	}
	if slices.Equal(present, names) {
		return nil
	}
	sorted := slices.Sorted(slices.Values(names))
	if slices.Sort(present); !slices.Equal(present, sorted) {
		return fmt.Errorf("order policies: %w: they are %v, and not %v", ErrOrder, present, sorted)
	}
	slices.SortFunc(c.slots, func(a, b slot) int { return slices.Index(names, a.name) - slices.Index(names, b.name) })
	return h.apply(ctx, c)
}
