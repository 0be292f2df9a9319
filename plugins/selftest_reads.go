package plugins

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// readsOnly checks the descriptor's word on what the policy reads: no answer may change with the fields that it leaves out.
// Otherwise what it decides would depend on which other policies are in force. Each hook is asked with the state as it is,
// with those fields scrambled, and as it is again: a guest whose first and last answers differ keeps count of its calls, and
// nothing can be said of it.
func (g *guest) readsOnly(s *golden) error {
	if g.lay.reads == abi.All {
		return nil
	}
	scrubbed := golden{s.name, s.st, slices.Clone(s.rows)}
	abi.Scrub(g.lay.reads, &scrubbed.st, scrubbed.rows)
	for _, e := range []Entry{EntryAdmit, EntryPrioritize, EntryBatchCap, EntrySpeculate} {
		if !g.lay.hooks.Has(e.Hook()) {
			continue
		}
		var answers [3][]byte
		for i, in := range []*golden{s, &scrubbed, s} {
			if _, err := g.try(e, in); err != nil {
				return err
			}
			answers[i] = append(bytes.Clone(g.call.View), byte(g.call.Ret))
		}
		if bytes.Equal(answers[0], answers[2]) && !bytes.Equal(answers[0], answers[1]) {
			return fmt.Errorf("%v decides by fields that its descriptor does not declare: it declares %s", e, strings.Join(GroupNames(g.lay.reads), ", "))
		}
	}
	return nil
}

// GroupNames lists the names of a set of groups.
func GroupNames(set abi.Group) (names []string) {
	for _, v := range abi.Enums["Group"] {
		if set.Has(abi.Group(v.Value)) {
			names = append(names, v.Name)
		}
	}
	return names
}
