package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/author/module"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Result is what came of a check.
type Result struct {
	OK       bool     `json:"ok"` // a server would take it
	Name     string   `json:"name"`
	Digest   string   `json:"digest"` // sha256, hex
	Bytes    int      `json:"bytes"`
	Language string   `json:"language"` // "" when nothing tells
	Stage    string   `json:"stage,omitempty"`
	Error    string   `json:"error,omitempty"` // why it is refused
	Warnings []string `json:"warnings"`        // nothing of which it is refused for

	Settings  []string         `json:"settings"` // that it knows; null when it does not say
	Report    plugins.Report   `json:"report"`   // of the server's own tests, as far as they came
	Hooks     []Hook           `json:"hooks"`
	Recursion module.Recursion `json:"recursion"`
}

// Hook is how much of its fuel a hook used at most, over all tests.
type Hook struct {
	Hook    string  `json:"hook"`
	Rows    int     `json:"rows"` // or events, of the test that used the greatest share
	Fuel    int64   `json:"fuel"` // units
	Budget  int64   `json:"budget"`
	Percent float64 `json:"percent"` // of the budget
}

// high is the share of a budget, in per cent, from which on it is said that little is left.
const high = 50

// Module checks a module. An error means that the check itself failed; a refusal is in the result.
func Module(ctx context.Context, box *sandbox.Box, name string, wasm []byte, config map[string]string) (*Result, error) {
	r := &Result{Name: name, Bytes: len(wasm), Warnings: []string{}, Hooks: []Hook{}, Recursion: module.Recursion{Cycles: []module.Cycle{}}}
	p, err := box.Load(ctx, name, wasm, config)
	var refused *plugins.RefusedError
	switch {
	case errors.As(err, &refused):
		r.Stage, r.Error, r.Report = string(refused.Stage), refused.Err.Error(), refused.Report
		r.Digest = refused.Digest
	case err != nil:
		return nil, err
	default:
		defer p.Close()
		r.OK, r.Report = true, p.Report()
		r.Digest = r.Report.Digest
		if r.Settings, err = settings(ctx, p); err != nil {
			return nil, err
		}
	}
	if info, err := module.Inspect(wasm); err == nil {
		r.Language, r.Recursion = info.Language, info.Recursion
	}
	r.hooks()
	r.warn()
	return r, nil
}

// noSetting is a key that no policy has.
const noSetting = "?"

// settings asks a policy for the keys that it knows, as its SDK lists them when it refuses one that it does not know.
func settings(ctx context.Context, p *sandbox.Policy) ([]string, error) {
	err := p.Configure(ctx, map[string]string{noSetting: ""})
	var refused *plugins.RefusedError
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &refused):
		return nil, err
	}
	_, list, ok := strings.Cut(refused.Err.Error(), `unknown key "`+noSetting+`": known are `)
	if !ok {
		return nil, nil
	}
	return strings.Split(list, ", "), nil
}

// hooks sums the tests up.
func (r *Result) hooks() {
	for _, t := range r.Report.Tests {
		h := Hook{t.Hook, t.Rows, t.Fuel, t.Budget, 0}
		if t.Budget > 0 {
			h.Percent = float64(t.Fuel*1000/t.Budget) / 10
		}
		i := slices.IndexFunc(r.Hooks, func(o Hook) bool { return o.Hook == h.Hook })
		switch {
		case i < 0:
			r.Hooks = append(r.Hooks, h)
		case r.Hooks[i].Percent < h.Percent:
			r.Hooks[i] = h
		}
	}
}

func (r *Result) warn() {
	add := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	for _, c := range r.Recursion.Cycles {
		how := ""
		if c.Table {
			how = ", through a table"
		}
		add("it may call itself: %v%s; a recursion that runs away ends with its fuel, and costs the decision", &c, how)
	}
	for _, h := range r.Hooks {
		if h.Percent >= high {
			add("%s took %.0f %% of its fuel on %d rows: do less for each row", h.Hook, h.Percent, h.Rows)
		}
	}
	if r.OK && len(r.Report.Reads) == len(abi.Enums["Group"]) {
		add("it declares no fields that it reads, so that the host computes and copies all of them for it")
	}
	if p := &r.Report; p.PageLimit > 0 && uint64(p.Pages)*100 >= uint64(p.PageLimit)*high {
		add("it starts with %d of the %d pages of memory that it may have", p.Pages, p.PageLimit)
	}
	if l := r.Report.LoadLimit; l > 0 && r.Report.StartFuel*100 >= l*high {
		add("its start took %d of %d units of fuel", r.Report.StartFuel, l)
	}
}
