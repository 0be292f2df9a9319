package plugins_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// The first in the chain to judge a row has it.
func TestAnotherOrderDecidesOtherwise(t *testing.T) {
	r := newRig(t, plugins.Options{})
	names := func() (all []string) {
		for _, i := range r.List() {
			all = append(all, i.Name)
		}
		return all
	}
	r.before("a", guesttest.Rejecter(1, 429))
	r.before("b", guesttest.Rejecter(1, 503))
	r.before("c", guesttest.Admitter(3))
	if out, _ := r.admit(0, 1); out[0].Status != 429 {
		t.Fatalf("status %d", out[0].Status)
	}
	if err := r.during(func() error { return r.Order(context.Background(), []string{"c", "b", "a"}) }); err != nil {
		t.Fatal(err)
	}
	if out, _ := r.admit(0, 1); out[0].Status != 503 || !slices.Equal(names(), []string{"c", "b", "a"}) {
		t.Errorf("status %d from %v", out[0].Status, names())
	}
	for _, wrong := range [][]string{nil, {"a", "b"}, {"a", "b", "c", "d"}, {"a", "b", "b"}} {
		if err := r.Order(context.Background(), wrong); !errors.Is(err, plugins.ErrOrder) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if !slices.Equal(names(), []string{"c", "b", "a"}) {
		t.Errorf("a wrong order changed the chain: %v", names())
	}
}
