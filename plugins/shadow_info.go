package plugins

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// ShadowInfo describes a shadow and how its answers compare with those of the policy beside which it stands.
type ShadowInfo struct {
	Digest      string            `json:"digest"` // sha256 of the module, hex
	Config      map[string]string `json:"config"`
	Since       int64             `json:"since_ns,omitempty"` // on the host's clock
	Dropped     string            `json:"dropped,omitempty"`  // why it sees no more calls; "" while it does
	Hooks       []ShadowHook      `json:"hooks"`              // those that it was asked at
	Differences []Difference      `json:"differences"`        // the last ones, the oldest first
	Replaced    uint64            `json:"instances_replaced"`
	Recycled    uint64            `json:"instances_recycled"`
}

// ShadowHook is how a shadow compares at one hook. At admit each row counts, elsewhere each call.
type ShadowHook struct {
	HookInfo                   // its calls and its faults, none of which was a fallback
	Agree    uint64            `json:"agree"`
	Differ   uint64            `json:"differ"`
	Would    map[string]uint64 `json:"would,omitempty"` // what it would have done: abstain, admit, reject, degrade; rank; keep, lower, raise (max_seqs); draft, stop
}

// Difference is a question to which a shadow gave another answer than the policy.
type Difference struct {
	Hook    string `json:"hook"`
	At      int64  `json:"at_ns"` // on the host's clock
	Step    uint64 `json:"step_id"`
	Request uint64 `json:"request_id,omitempty"` // the row in which they differ; 0 = they differ as a whole
	Active  string `json:"active"`
	Shadow  string `json:"shadow"`
}

// info describes the shadow. Any goroutine may call it.
func (s *shadow) info() *ShadowInfo {
	i := &ShadowInfo{
		Digest: s.v.digest, Config: maps.Clone(s.v.config), Since: s.since.Load(), Differences: []Difference{},
		Replaced: s.v.stats.replaced.Load(), Recycled: s.v.stats.recycled.Load(),
	}
	if why := s.dropped.Load(); why != nil {
		i.Dropped = *why
	}
	for e := EntryAdmit; e <= EntryEvents; e++ {
		if s.v.hooks.Has(e.Hook()) {
			i.Hooks = append(i.Hooks, s.hook(e))
		}
	}
	s.mu.Lock()
	last, seen := s.last, s.seen
	s.mu.Unlock()
	for n := max(0, seen-maxDifferences); n < seen; n++ {
		d := &last[n%maxDifferences]
		i.Differences = append(i.Differences, Difference{
			Hook: d.entry.hookName(), At: d.at, Step: d.step, Request: d.request,
			Active: d.active.text(d.entry), Shadow: d.mine.text(d.entry),
		})
	}
	return i
}

func (s *shadow) hook(e Entry) ShadowHook {
	n := hookIndex(e.Hook())
	t := &s.tally[n]
	h := ShadowHook{HookInfo: s.v.stats.hook[n].info(e.hookName()), Agree: t.agree.Load(), Differ: t.differ.Load()}
	if list := wouldsOf[e]; list != nil {
		h.Would = map[string]uint64{}
		for _, w := range list {
			h.Would[wouldNames[w]] = t.would[w].Load()
		}
	}
	return h
}

// text is an answer in short.
func (o *opinion) text(e Entry) string {
	switch o.answer {
	case abstained:
		return "abstain"
	case failed:
		return "fault"
	}
	switch e {
	case EntryAdmit:
		return verdictText(o.verdict)
	case EntryPrioritize:
		return words("place "+fmt.Sprint(o.rank.Score), fields("Ranking", abi.Bytes(&o.rank), "score"))
	case EntryBatchCap:
		return words("plan", fields("BatchPlan", abi.Bytes(&o.batch)))
	}
	own := ""
	if o.k >= 0 {
		own = fmt.Sprint("this_row=", o.k)
	}
	return words(fmt.Sprint("k=", o.spec.K), fields("SpecPlan", abi.Bytes(&o.spec), "k"), own)
}

func verdictText(v abi.Verdict) string {
	action := abi.Enums["Action"][v.Action].Name
	if v.ClassOverride == -1 { // none
		v.ClassOverride = 0
	}
	if v.SpeculationCap == -1 {
		v.SpeculationCap = 0
	}
	return words(action, fields("Verdict", abi.Bytes(&v), "action"))
}

func words(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}

// fields lists the fields of a layout that are not 0, but for one.
func fields(layout string, bytes []byte, but ...string) string {
	var all []string
	for _, f := range abi.Layouts[layout].Fields {
		if len(but) > 0 && f.Name == but[0] {
			continue
		}
		size := f.Size / f.Count
		for i := range f.Count {
			at := f.Offset + i*size
			v := integer(bytes[at:at+size], f.Type[0] == 'i')
			if v != 0 && f.Count == 1 {
				all = append(all, f.Name+"="+valueText(f.Enum, v))
			} else if v != 0 {
				all = append(all, fmt.Sprintf("%s[%d]=%d", f.Name, i, v))
			}
		}
	}
	return strings.Join(all, " ")
}

// valueText is an enum's value by its name, anything else as a number.
func valueText(enum string, v int64) string {
	for _, e := range abi.Enums[enum] {
		if e.Value == v {
			return e.Name
		}
	}
	return strconv.FormatInt(v, 10)
}

// integer reads a little-endian integer of 1 to 8 bytes.
func integer(b []byte, signed bool) (v int64) {
	for i := range b {
		v |= int64(b[i]) << (8 * i)
	}
	if shift := 64 - 8*len(b); signed {
		v = v << shift >> shift
	}
	return v
}
