package cases

import (
	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// stepTime is how much later, in ns, a step is than the one before unless it says otherwise.
const stepTime = 20_000_000

// Idle is the server that a step sees where it says nothing else: one that has been up for 1,000 s and has nothing to do.
func Idle() abi.State {
	return abi.State{
		Size: abi.StateSize, StepID: 1, NowNS: 1000e9, RngSeed: 1, QueueLimit: 1024, MaxNumSeqs: 64, MaxBatchedTokens: 2048,
		BlockSize: 16, BlocksTotal: 4096, BlocksFree: 4096, KMax: abi.MaxDraft,
	}
}

// scene is what the steps of a case have in common, and how far they have come.
type scene struct {
	hook, state, row *notation.Node // nil = none
	next             abi.State
}

func newScene(n *notation.Node) *scene {
	return &scene{hook: n.Get("hook"), state: n.Get("state"), row: n.Get("row"), next: Idle()}
}

// Ask reads a question alone: a document with the keys hook, state, rows and events. hook, unless it is 0, counts more than
// the document's.
func Ask(n *notation.Node, hook abi.Hook) (*sandbox.Question, error) {
	if err := n.Want(notation.Map, "the file"); err != nil {
		return nil, err
	}
	if err := n.Only("a question", "hook", "state", "row", "rows", "events"); err != nil {
		return nil, err
	}
	return newScene(n).question(n, hook)
}

func (sc *scene) step(n *notation.Node) (*Step, error) {
	s := &Step{Line: n.Line}
	var err error
	if s.Config, err = settings(n.Get("config")); err != nil {
		return nil, err
	}
	q, err := sc.question(n, 0)
	if err != nil {
		return nil, err
	}
	s.Question = *q
	if s.Expect, err = expect(n, q); err != nil {
		return nil, err
	}
	return s, nil
}

// question reads what is asked. A hook that is given counts more than the document's.
func (sc *scene) question(n *notation.Node, hook abi.Hook) (*sandbox.Question, error) {
	q := &sandbox.Question{Hook: hook, State: sc.next}
	named := n.Get("hook")
	if named == nil {
		named = sc.hook
	}
	var err error
	switch {
	case hook != 0:
	case named == nil:
		return nil, n.Errorf("there is no hook: name one of %v", sandbox.Names())
	default:
		if q.Hook, err = hookOf(named); err != nil {
			return nil, err
		}
	}
	for _, doc := range []*notation.Node{sc.state, n.Get("state")} {
		if doc == nil || doc.Kind == notation.Null {
			continue
		}
		if err := notation.Fill("State", abi.Bytes(&q.State), doc); err != nil {
			return nil, err
		}
	}
	sc.next.StepID, sc.next.NowNS, sc.next.RngSeed = q.State.StepID+1, q.State.NowNS+stepTime, q.State.RngSeed+1
	if q.Rows, err = sc.rows(n.Get("rows"), q); err != nil {
		return nil, err
	}
	q.Events, err = events(n.Get("events"), q)
	return q, err
}

func (sc *scene) rows(n *notation.Node, q *sandbox.Question) ([]abi.Row, error) {
	if n == nil || n.Kind == notation.Null {
		return nil, nil
	}
	if err := n.Want(notation.List, "rows"); err != nil {
		return nil, err
	}
	if !sandbox.SeesRows(q.Hook) && len(n.Items) > 0 {
		return nil, n.Errorf("%s sees no rows", sandbox.HookName(q.Hook))
	}
	if len(n.Items) > abi.MaxRows {
		return nil, n.Errorf("%d rows; one call sees at most %d", len(n.Items), abi.MaxRows)
	}
	rows := make([]abi.Row, len(n.Items))
	for i, item := range n.Items {
		r, err := sc.oneRow(item, q, i)
		if err != nil {
			return nil, err
		}
		rows[i] = *r
	}
	return rows, nil
}

func (sc *scene) oneRow(item *notation.Node, q *sandbox.Question, i int) (*abi.Row, error) {
	r := &abi.Row{
		ID: uint64(i + 1), Phase: uint8(phaseOf(q.Hook)), SpeculationAllowed: 1, PromptTokens: 100, MaxTokens: 128,
		KVNeedNext: 1, KVNeedPeak: 15, TenantWeight: 1,
	}
	given := map[string]bool{}
	for _, doc := range []*notation.Node{sc.row, item} {
		if doc == nil || doc.Kind == notation.Null {
			continue
		}
		if err := notation.Fill("Row", abi.Bytes(r), doc); err != nil {
			return nil, err
		}
		for _, m := range doc.Members {
			given[m.Key] = true
		}
	}
	times(r, q.State.NowNS, given)
	return r, nil
}

// phaseOf is the phase in which a hook sees most rows.
func phaseOf(h abi.Hook) abi.Phase {
	switch h {
	case abi.HookAdmit:
		return abi.PhaseArrival
	case abi.HookSpeculate:
		return abi.PhaseRunning
	}
	return abi.PhaseQueued
}

// times makes the times that are not given agree with those that are.
func times(r *abi.Row, now int64, given map[string]bool) {
	switch {
	case given["age_ns"]:
	case given["arrival_ns"]:
		r.AgeNS = now - r.ArrivalNS
	case given["wait_ns"]:
		r.AgeNS = r.WaitNS
	case given["enqueue_ns"]:
		r.AgeNS = now - r.EnqueueNS
	}
	waits := r.Phase == uint8(abi.PhaseQueued) || r.Phase == uint8(abi.PhasePreempted)
	switch {
	case given["wait_ns"]:
	case given["enqueue_ns"] && waits:
		r.WaitNS = now - r.EnqueueNS
	case waits:
		r.WaitNS = r.AgeNS
	}
	if !given["arrival_ns"] {
		r.ArrivalNS = now - r.AgeNS
	}
	switch {
	case given["enqueue_ns"]:
	case waits:
		r.EnqueueNS = now - r.WaitNS
	default:
		r.EnqueueNS = r.ArrivalNS
	}
}

func events(n *notation.Node, q *sandbox.Question) ([]abi.Event, error) {
	if n == nil || n.Kind == notation.Null {
		return nil, nil
	}
	if err := n.Want(notation.List, "events"); err != nil {
		return nil, err
	}
	if q.Hook != abi.HookEvents && len(n.Items) > 0 {
		return nil, n.Errorf("%s hears no events", sandbox.HookName(q.Hook))
	}
	if len(n.Items) > abi.MaxRows {
		return nil, n.Errorf("%d events; one call hears at most %d", len(n.Items), abi.MaxRows)
	}
	all := make([]abi.Event, len(n.Items))
	for i, item := range n.Items {
		all[i] = abi.Event{ID: uint64(i + 1), AtNS: q.State.NowNS}
		if err := notation.Fill("Event", abi.Bytes(&all[i]), item); err != nil {
			return nil, err
		}
	}
	return all, nil
}
