package plugins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// Candidate is a policy that is ready to decide and does not yet. Activate or Close it.
type Candidate struct{ v *version }

// Info describes the policy. Its version is 0: it was never in force.
func (c *Candidate) Info() PolicyInfo { return c.v.info() }

// Close frees a candidate that was not activated.
func (c *Candidate) Close() { c.v.close() }

// Prepare makes a policy ready: it is validated, metered, compiled, started, configured and tested, one policy at a time.
// A *RefusedError says why it was not taken. The set in force does not notice. This takes up to seconds; never call it on
// the loop's goroutine while it serves.
func (h *Host) Prepare(ctx context.Context, name string, wasm []byte, config map[string]string) (*Candidate, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := h.hold(ctx, h.preparing); err != nil {
		return nil, fmt.Errorf("prepare policy %s: %w", name, err)
	}
	defer release(h.preparing)
	defer giveBack(heapHeld())
	v, err := newVersion(Policy{name, wasm, config}, h.opt.Budgets[name].or(h.opt.Budget), h.opt.FaultLimit)
	if err != nil {
		return nil, fmt.Errorf("prepare policy %s: %w", name, err)
	}
	v.say = h.say
	if err := h.load(ctx, v, wasm); err != nil {
		v.close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("prepare policy %s: %w", name, context.Cause(ctx))
		}
		h.tell(Event{Kind: EventRefused, Name: name, Digest: v.digest, Err: err})
		return nil, err
	}
	return &Candidate{v}, nil
}

// load builds a version and gives it its instances. Its error is a *RefusedError.
func (h *Host) load(ctx context.Context, v *version, wasm []byte) error {
	if stage, err := h.build(ctx, v, wasm); err != nil {
		return v.refused(stage, err)
	}
	return h.ready(ctx, v)
}

// build takes a version from bytes to tested code.
func (h *Host) build(ctx context.Context, v *version, wasm []byte) (Stage, error) {
	if len(wasm) > h.opt.MaxBytes {
		return StageSize, fmt.Errorf("%d bytes, and %d are allowed: strip it (for Go, -ldflags='-s -w')", len(wasm), h.opt.MaxBytes)
	}
	if err := CheckFormat(wasm); err != nil {
		return StageFormat, err
	}
	m, err := h.meter(v, wasm) // first: it bounds what the runtime's own decoder does not
	if err != nil {
		return StageMeter, err
	}
	// The original, not what meter made of it: a module that names the counter's index is invalid before and valid after.
	if err := h.rt.Validate(ctx, wasm); err != nil {
		return StageValidate, err
	}
	v.pages, v.report.PageLimit, v.report.LoadLimit = m.MemoryMax, m.MemoryMax, v.budget.Load
	for _, i := range m.Imports {
		v.report.Imports = append(v.report.Imports, i.Module+"."+i.Name)
	}
	if err := checkInterface(h.rt, m); err != nil {
		return StageInterface, err
	}
	if err := ctx.Err(); err != nil {
		return StageCompile, err
	}
	if v.module, err = h.rt.Compile(ctx, m.Code); err != nil {
		return StageCompile, err
	}
	g, stage, err := newGuest(ctx, v, true)
	if err != nil {
		return stage, err
	}
	defer g.close() // tested, and therefore no longer as it started
	v.hooks, v.reads = g.lay.hooks, g.lay.reads
	if err := declared(v.hooks, m.Exports); err != nil {
		return StageDescriptor, err
	}
	g.quiet = true
	return StageSelfTest, g.selfTest(h.samples)
}

// maxFunctions bounds the time and memory that compiling a module takes. A policy in Go has some thousands.
const maxFunctions = 30_000

// meter rewrites a module under the budget for its kind, which its imports tell: those are known once it has been rewritten.
func (h *Host) meter(v *version, wasm []byte) (*meter.Module, error) {
	given := v.budget
	v.budget = given.or(DefaultBudget)
	m, err := meter.Rewrite(wasm, h.limits(v.budget))
	if err != nil {
		return nil, err
	}
	if b := given.or(BudgetFor(m.Imports)); b != v.budget {
		v.budget = b
		return meter.Rewrite(wasm, h.limits(b))
	}
	return m, nil
}

func (h *Host) limits(b Budget) meter.Limits {
	lim := meter.DefaultLimits()
	lim.MaxBytes, lim.MaxFunctions = h.opt.MaxBytes, maxFunctions
	lim.MaxMemoryPages, lim.StartFuel = b.Pages, b.Load
	return lim
}

// checkInterface lists every import that is not served and every export of the ABI that is missing or malformed.
func checkInterface(rt Runtime, m *meter.Module) error {
	var errs []error
	var unknown []string
	for _, i := range m.Imports {
		name := i.Module + "." + i.Name
		want, ok := rt.Import(i.Module, i.Name)
		switch {
		case !ok || i.Kind != meter.KindFunction:
			if !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
		case want != signature(i.Signature):
			errs = append(errs, fmt.Errorf("it imports %s as %s, which is %s", name, signature(i.Signature), want))
		}
	}
	if len(unknown) > 0 {
		errs = append(errs, fmt.Errorf("it imports %s: a policy has the functions %s.%s and %s.%s and no files, sockets or threads",
			strings.Join(unknown, ", "), abi.ImportModule, abi.ImportLog, abi.ImportModule, abi.ImportMetric))
	}
	memory := false
	for _, x := range m.Exports {
		memory = memory || x.Name == abi.ExportMemory && x.Kind == meter.KindMemory
	}
	if !memory {
		errs = append(errs, fmt.Errorf("it exports no %s", abi.ExportMemory))
	}
	for e := range Entries {
		x, ok := exported(m.Exports, e)
		switch {
		case !ok && e == EntryMarker:
			errs = append(errs, fmt.Errorf("it exports no %s: build it with a Sluice SDK of version %d", e, abi.Major))
		case ok && (x.Kind != meter.KindFunction || signature(x.Signature) != e.signature()):
			errs = append(errs, fmt.Errorf("it exports %s as %s %s, which must be func %s", e, x.Kind, signature(x.Signature), e.signature()))
		}
	}
	return joined(errs)
}

func exported(exports []meter.Export, e Entry) (meter.Export, bool) {
	for _, x := range exports {
		if x.Name == entries[e].export {
			return x, true
		}
	}
	return meter.Export{}, false
}

// declared checks that a descriptor promises nothing that the module does not export.
func declared(set abi.Hook, exports []meter.Export) error {
	var errs []error
	for e := EntryConfigure; e < Entries; e++ {
		if _, ok := exported(exports, e); !ok && set.Has(e.Hook()) {
			errs = append(errs, fmt.Errorf("its descriptor declares the hook %s and it exports no %s", e.hookName(), e))
		}
	}
	if set&^(abi.HookConfigure|abi.HookState) == 0 {
		errs = append(errs, fmt.Errorf("its descriptor declares no hook that decides anything: register a handler before the start function ends"))
	}
	return joined(errs)
}

// signature writes a function's type as in (i32, i64) -> i32.
func signature(s meter.Signature) string { return Signature(s.Params, s.Results) }

func (e Entry) signature() string {
	return fmt.Sprintf("(%s) -> %s", entries[e].param, entries[e].result)
}

// Signature writes a function's type for Runtime.Import: (i32, i64) -> i32. Of no results nothing follows the arrow.
func Signature[T fmt.Stringer](params, results []T) string {
	list := func(types []T) string {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = t.String()
		}
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("(%s) -> %s", list(params), list(results))
}
