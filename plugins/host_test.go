package plugins_test

import (
	"context"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

func TestA(t *testing.T) {
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := plugins.New(rt, plugins.Options{})
	if err := h.Push(context.Background(), "a", guesttest.Admitter(7), nil); err != nil {
		t.Fatal(err)
	}
	d, e, ch := h.Swap(5)
	t.Log(e, ch)
	var st abi.State
	rows := make([]abi.Row, 4)
	out := make([]abi.Verdict, 4)
	by := make([]abi.PolicyID, 4)
	d.Admit(&st, rows, out, by)
	t.Log(out, by)
	t.Log(h.List())
	t.Log(testing.AllocsPerRun(100, func() { d.Admit(&st, rows, out, by) }))
	h.Close()
	t.Log(rt.Live())
}
