package cases

import (
	"slices"
	"strconv"

	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// answerKeys are the keys of an expectation that stand for a part of an answer; all others are fields of the plan.
var answerKeys = []string{"decided", "fault", "rows", "plan", "order", "victims"}

// expect reads a step's expectation: abstain, a list for the rows, the fields of a plan, or the parts of an answer.
func expect(n *notation.Node, q *sandbox.Question) (e Expect, err error) {
	e.Line = n.Line
	if log := n.Get("log"); log != nil {
		if e.Log, err = log.Strings("log"); err != nil {
			return e, err
		}
	}
	doc := n.Get("expect")
	if doc == nil {
		return e, nil
	}
	e.Line = doc.Line
	switch {
	case doc.Kind == notation.Scalar && doc.Text == "abstain":
		no := false
		e.Decided = &no
	case doc.Kind == notation.List:
		err = e.rows(doc, q)
	case doc.Kind == notation.Map && slices.ContainsFunc(doc.Members, isAnswerKey):
		err = e.parts(doc, q)
	case doc.Kind == notation.Map:
		err = e.plan(doc, q)
	default:
		err = doc.Errorf("expect must be abstain, a list for the rows, or the fields of a plan")
	}
	return e, err
}

func isAnswerKey(m notation.Member) bool { return slices.Contains(answerKeys, m.Key) }

func (e *Expect) parts(doc *notation.Node, q *sandbox.Question) error {
	if err := doc.Only("expect", answerKeys...); err != nil {
		return err
	}
	for i := range doc.Members {
		var err error
		switch v := doc.Members[i].Value; doc.Members[i].Key {
		case "decided":
			e.Decided, err = decided(v)
		case "fault":
			e.Fault, err = fault(v)
		case "rows":
			err = e.rows(v, q)
		case "plan":
			err = e.plan(v, q)
		case "order":
			e.Order, err = ids(v, q, "order", false)
		case "victims":
			e.Victims, err = ids(v, q, "victims", true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func decided(v *notation.Node) (*bool, error) {
	b, err := strconv.ParseBool(v.Text)
	if err != nil {
		return nil, v.Errorf("decided must be true or false, and not %q", v.Text)
	}
	return &b, nil
}

func fault(v *notation.Node) (string, error) {
	names := plugins.FaultNames()
	if !slices.Contains(names, v.Text) {
		return "", v.Errorf("fault = %q is none of %v", v.Text, names)
	}
	return v.Text, nil
}

// rows reads one expectation for each row, and compares each with an empty answer, so that a wrong name is found before
// anything runs.
func (e *Expect) rows(doc *notation.Node, q *sandbox.Question) error {
	if err := doc.Want(notation.List, "rows"); err != nil {
		return err
	}
	if !sandbox.SeesRows(q.Hook) {
		return doc.Errorf("%s answers with a plan and not for rows", sandbox.HookName(q.Hook))
	}
	if len(doc.Items) != len(q.Rows) {
		return doc.Errorf("%d answers are expected for %d rows; write null for a row that does not matter", len(doc.Items), len(q.Rows))
	}
	empty := sandbox.Answer{
		Hook: q.Hook, Verdicts: make([]abi.Verdict, len(q.Rows)), Rankings: make([]abi.Ranking, len(q.Rows)), K: make([]int32, len(q.Rows)),
	}
	for i, item := range doc.Items {
		if _, err := compareRow(&empty, i, item); err != nil {
			return err
		}
	}
	e.Rows = doc.Items
	return nil
}

func (e *Expect) plan(doc *notation.Node, q *sandbox.Question) error {
	layout, _ := planOf(&sandbox.Answer{Hook: q.Hook})
	if layout == "" {
		return doc.Errorf("%s answers for rows: expect must be a list with an answer for each", sandbox.HookName(q.Hook))
	}
	scratch := make([]byte, abi.Layouts[layout].Size)
	e.Plan = doc
	return notation.Fill(layout, scratch, doc)
}

// ids reads which of the rows, of those that run or of the others, come in which order.
func ids(doc *notation.Node, q *sandbox.Question, name string, running bool) ([]uint64, error) {
	if err := doc.Want(notation.List, name); err != nil {
		return nil, err
	}
	if q.Hook != abi.HookPrioritize {
		return nil, doc.Errorf("%s: %s ranks nothing", name, sandbox.HookName(q.Hook))
	}
	all := []uint64{}
	for _, item := range doc.Items {
		id, err := strconv.ParseUint(item.Text, 10, 64)
		i := slices.IndexFunc(q.Rows, func(r abi.Row) bool { return r.ID == id })
		if err != nil || i < 0 || sandbox.Runs(&q.Rows[i]) != running {
			return nil, item.Errorf("%s: %q is not the id of a row that %s", name, item.Text, map[bool]string{true: "runs", false: "waits"}[running])
		}
		all = append(all, id)
	}
	return all, nil
}

// planOf is an answer's plan and its layout; "" for a hook that answers for rows or not at all.
func planOf(a *sandbox.Answer) (layout string, plan []byte) {
	switch a.Hook {
	case abi.HookBatchCap:
		return "BatchPlan", abi.Bytes(&a.Batch)
	case abi.HookSpeculate:
		return "SpecPlan", abi.Bytes(&a.Spec)
	}
	return "", nil
}
