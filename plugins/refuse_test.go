package plugins_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// refusals is what must not get in, with where it ends and what its reason must say.
func refusals() map[string]struct {
	wasm  []byte
	stage plugins.Stage
	words []string
} {
	type refusal = struct {
		wasm  []byte
		stage plugins.Stage
		words []string
	}
	good := guesttest.Admitter(1)
	hook := func(code ...guesttest.Code) guesttest.Func { return guesttest.Hook(abi.ExportAdmit, code...) }
	with := func(m guesttest.Module) []byte {
		if m.Funcs == nil {
			m.Funcs = []guesttest.Func{guesttest.Admit(1)}
		}
		return m.Bytes()
	}
	described := func(change func(*abi.Descriptor)) []byte { return with(guesttest.Module{Descriptor: change}) }
	many := make([]guesttest.Func, 30_000)
	return map[string]refusal{
		"nothing":            {nil, plugins.StageFormat, []string{"not a WebAssembly module"}},
		"text":               {[]byte("hello"), plugins.StageFormat, []string{"not a WebAssembly module"}},
		"a zip archive":      {[]byte("PK\x03\x04rest"), plugins.StageFormat, []string{"zip", "unpack"}},
		"gzip data":          {[]byte("\x1f\x8brest"), plugins.StageFormat, []string{"gzip", "unpack"}},
		"a native binary":    {[]byte("\x7fELFrest"), plugins.StageFormat, []string{"native", "GOARCH=wasm"}},
		"the text format":    {[]byte("(module)"), plugins.StageFormat, []string{"assemble"}},
		"a component":        {[]byte("\x00asm\x0d\x00\x01\x00"), plugins.StageFormat, []string{"component", "core module"}},
		"a header alone":     {[]byte("\x00asm"), plugins.StageFormat, []string{"truncated"}},
		"a truncated module": {good[:len(good)/2], plugins.StageMeter, []string{"malformed"}},
		"100 MB":             {make([]byte, 100<<20), plugins.StageSize, []string{"104857600", "strip"}},
		"too many functions": {with(guesttest.Module{Funcs: many}), plugins.StageMeter, []string{"30001", "over a limit"}},
		// 120 KB that would compile for minutes.
		"a tangle of branches": {guesttest.Policy(hook(slices.Repeat(guesttest.Loop(guesttest.Get(0), guesttest.BrIf(0)), 20_000), guesttest.I32(0))),
			plugins.StageMeter, []string{"over a limit", "split the function"}},
		"an empty module":           {[]byte("\x00asm\x01\x00\x00\x00"), plugins.StageInterface, []string{"memory", abi.ExportMarker}},
		"no marker":                 {with(guesttest.Module{NoMarker: true}), plugins.StageInterface, []string{abi.ExportMarker, "SDK"}},
		"an ill-typed body":         {guesttest.Policy(hook(guesttest.Add32)), plugins.StageValidate, nil},
		"a hook of the wrong type":  {guesttest.Policy(guesttest.Func{Export: abi.ExportAdmit, Code: nil}), plugins.StageInterface, []string{"sluice_admit", "(i32) -> i32"}},
		"a declared, absent hook":   {with(guesttest.Module{Hooks: abi.HookAdmit | abi.HookSpeculate}), plugins.StageDescriptor, []string{"speculate", abi.ExportSpeculate}},
		"no hook that decides":      {guesttest.Policy(guesttest.Hook(abi.ExportConfigure, guesttest.I32(0))), plugins.StageDescriptor, []string{"no hook"}},
		"a marker outside memory":   {markerAt(-64), plugins.StageDescriptor, []string{"outside"}},
		"a marker that traps":       {marker(guesttest.Unreachable), plugins.StageDescriptor, []string{"unreachable", abi.ExportMarker}},
		"a marker to zeros":         {markerAt(guesttest.Free), plugins.StageDescriptor, []string{"magic"}},
		"another major version":     {described(func(d *abi.Descriptor) { d.Major = 2 }), plugins.StageDescriptor, []string{"2.", "version 1"}},
		"unknown hooks":             {described(func(d *abi.Descriptor) { d.Hooks |= 1 << 20 }), plugins.StageDescriptor, []string{"0x100000"}},
		"rows that wrap the memory": {described(func(d *abi.Descriptor) { d.RowsPtr = 0xffff_fff0 }), plugins.StageDescriptor, []string{"rows_ptr"}},
		"two broken fields":         {described(func(d *abi.Descriptor) { d.OutCap, d.StateCap = 8, 8 }), plugins.StageDescriptor, []string{"out_cap", "state_cap"}},
		"a stride of 0":             {described(func(d *abi.Descriptor) { d.RowStride = 0 }), plugins.StageDescriptor, []string{"row_stride"}},
		"a stride that overflows":   {described(func(d *abi.Descriptor) { d.RowStride = 1 << 31 }), plugins.StageDescriptor, []string{"row_stride"}},
		"a start that loops":        {with(guesttest.Module{Start: guesttest.Forever()}), plugins.StageStart, []string{"start", "out of fuel"}},
		"a start that traps":        {with(guesttest.Module{Start: guesttest.Unreachable}), plugins.StageStart, []string{"start", "unreachable"}},
		"an _initialize that loops": {with(guesttest.Module{Funcs: []guesttest.Func{guesttest.Admit(1), {Export: "_initialize", Code: guesttest.Forever()}}}),
			plugins.StageStart, []string{"_initialize", "out of fuel"}},
		"a configure that loops": {guesttest.Policy(guesttest.Admit(1), guesttest.Hook(abi.ExportConfigure, guesttest.Forever(), guesttest.I32(0))),
			plugins.StageConfigure, []string{abi.ExportConfigure, "out of fuel"}},
		"unknown imports": {with(guesttest.Module{Imports: []guesttest.Func{
			{Export: "env.abort"}, {Export: "wasi_snapshot_preview1.path_open"}, {Export: "sluice.log", Params: "iii"}, {Export: "env.abort"}}}),
			plugins.StageInterface, []string{"env.abort, wasi_snapshot_preview1.path_open:", "no files"}},
		"an import of another type": {with(guesttest.Module{Imports: []guesttest.Func{{Export: "sluice.log", Params: "l"}}}),
			plugins.StageInterface, []string{"sluice.log", "(i32, i32, i32) -> "}},
		"a loop on any state":     {guesttest.Policy(hook(guesttest.Forever(), guesttest.I32(0))), plugins.StageSelfTest, []string{"idle", "out of fuel", "budget"}},
		"a loop on a busy state":  {guesttest.Breaker(1, 24, guesttest.Forever()), plugins.StageSelfTest, []string{"busy", "out of fuel"}},
		"a trap on a full window": {guesttest.Breaker(1, 256, guesttest.Unreachable), plugins.StageSelfTest, []string{"256 rows", "unreachable"}},
		"a restore that traps":    {counting(1, guesttest.Unreachable), plugins.StageSelfTest, []string{"sluice_restore", "unreachable"}},
		"state outside memory": {guesttest.Policy(guesttest.Admit(1), guesttest.Hook(abi.ExportSave, guesttest.I64(-1)), guesttest.Hook(abi.ExportRestore, guesttest.I32(0))),
			plugins.StageSelfTest, []string{"sluice_save", "outside"}},
		"a return of 2":     {guesttest.Policy(hook(guesttest.I32(2))), plugins.StageSelfTest, []string{"returned 2", "abstain"}},
		"an unknown action": {guesttest.Policy(hook(guesttest.Put8(guesttest.OutPtr, 9), guesttest.I32(0))), plugins.StageSelfTest, []string{"action = 9"}},
	}
}

func marker(code ...guesttest.Code) []byte {
	return guesttest.Module{NoMarker: true, Hooks: abi.HookAdmit, Funcs: []guesttest.Func{
		guesttest.Admit(1), {Export: abi.ExportMarker, Results: "i", Code: guesttest.Seq(code...)}}}.Bytes()
}

func markerAt(addr int32) []byte { return marker(guesttest.I32(addr)) }

func TestABrokenModuleIsRefusedWithItsReasonAndChangesNothing(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	before := r.info("p")
	_, epoch, _ := r.Swap(r.now)
	for name, c := range refusals() {
		t.Run(name, func(t *testing.T) {
			wants(t, r.Push(context.Background(), "p", c.wasm, nil), c.stage, c.words...)
		})
	}
	_, after, changed := r.Swap(r.now)
	if after != epoch || changed || r.info("p").Digest != before.Digest || r.mark() != 1 {
		t.Error("a refused module changed the set in force")
	}
	if modules, instances := r.rt.Live(); modules != 1 || instances != 2 {
		t.Errorf("%d modules and %d instances live after the refusals, want the 1 and 2 of the policy in force", modules, instances)
	}
}

func TestConfigurationIsRefusedInTheGuestsWords(t *testing.T) {
	const reason = "max_age: 7 is not a duration"
	picky := guesttest.Module{
		Imports: []guesttest.Func{{Export: "sluice.log", Params: "iii"}}, Data: reason,
		Funcs: []guesttest.Func{guesttest.Admit(1), guesttest.Hook(abi.ExportConfigure,
			// {} is two bytes: anything longer is refused.
			guesttest.I32(2), guesttest.Get(0), guesttest.LtU32,
			guesttest.If(guesttest.I32(2), guesttest.I32(guesttest.Free), guesttest.I32(int32(len(reason))), guesttest.Call(0), guesttest.I32(1), guesttest.Return),
			guesttest.I32(0))},
	}.Bytes()
	r := newRig(t, plugins.Options{})
	ctx := context.Background()
	wants(t, r.Push(ctx, "p", picky, map[string]string{"max_age": "7"}), plugins.StageConfigure, `{"max_age":"7"}`, reason)
	wants(t, r.Push(ctx, "p", picky, map[string]string{"x": strings.Repeat("y", 5000)}), plugins.StageConfigure, "config_cap")
	wants(t, r.Push(ctx, "p", guesttest.Admitter(1), map[string]string{"a": "b"}), plugins.StageConfigure, "takes no configuration")
	if err := r.Push(ctx, "p", picky, nil); err != nil {
		t.Errorf("without configuration: %v", err)
	}
}

func TestNamesThatCannotStandInAMetricAreRefused(t *testing.T) {
	r := newRig(t, plugins.Options{})
	for _, name := range []string{"", "a/b", "a b", "native", strings.Repeat("x", 65), "ä", "..", "-x"} {
		if err := r.Push(context.Background(), name, guesttest.Admitter(1), nil); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}

func TestAModuleThatNamesTheFuelCounterIsRefused(t *testing.T) {
	// Global 0 does not exist before the rewrite, and is the counter after it.
	refuel := guesttest.Policy(guesttest.Hook(abi.ExportAdmit, guesttest.Global(0), guesttest.Drop, guesttest.I32(0)))
	err := newRig(t, plugins.Options{}).Push(context.Background(), "p", refuel, nil)
	var refused *plugins.RefusedError
	if !errors.As(err, &refused) || refused.Stage != plugins.StageMeter && refused.Stage != plugins.StageValidate {
		t.Errorf("got %v, want it refused before it is compiled", err)
	}
}

// FuzzDescriptor: whatever a guest's descriptor says, the host refuses it or can be asked safely.
func FuzzDescriptor(f *testing.F) {
	valid := abi.Descriptor{Magic: abi.Magic, Major: 1, Hooks: uint32(abi.HookAdmit), StatePtr: 1024, StateCap: 2392, RowsPtr: 4096,
		RowsCap: 55296, RowStride: 216, OutPtr: 65536, OutCap: 8192, ConfigPtr: 81920, ConfigCap: 4096, EventsPtr: 90112, EventsCap: 8192}
	f.Add(abi.Bytes(&valid))
	short := valid
	short.RowStride, short.StateCap = 64, 48
	f.Add(abi.Bytes(&short))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d abi.Descriptor
		copy(abi.Bytes(&d), raw)
		d.Hooks &= uint32(abi.HookAdmit | abi.HookEvents | abi.HookState | abi.HookConfigure | abi.HookBatchCap | abi.HookSpeculate | abi.HookPrioritize)
		all := guesttest.Module{Descriptor: func(x *abi.Descriptor) { *x = d }}
		for _, x := range append(exports, struct{ hook, export string }{"configure", abi.ExportConfigure}) {
			all.Funcs = append(all.Funcs, guesttest.Hook(x.export, guesttest.I32(1)))
		}
		all.Funcs = append(all.Funcs, guesttest.Hook(abi.ExportSave, guesttest.I64(0)), guesttest.Hook(abi.ExportRestore, guesttest.I32(0)))
		r := newRig(t, plugins.Options{Inline: true})
		if err := r.Push(context.Background(), "p", all.Bytes(), nil); err != nil {
			var refused *plugins.RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		for _, x := range exports {
			ask(r.step(), x.hook, r.now, 0)
		}
	})
}

// FuzzModule: no upload takes the host down.
func FuzzModule(f *testing.F) {
	f.Add(guesttest.Admitter(1))
	f.Add(guesttest.Rejecter(3, 429))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x0b\xff\xff\xff\xff\x0f"))
	f.Add(binary.LittleEndian.AppendUint32([]byte("\x00asm"), 0x1000d))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		r := newRig(t, plugins.Options{Inline: true, Budget: plugins.Budget{Load: 1_000_000, Pages: 16}})
		if r.Push(context.Background(), "p", wasm, nil) == nil {
			r.admit(0, 3)
		}
	})
}
