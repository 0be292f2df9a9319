package meter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/plugins/internal/program"
)

// family is a module of functions () -> () that call each other. calls[i] lists what function i calls: an index, or -1 for
// a call through the table, which holds the functions in table. The first is exported, and all have names a, b, c ...
func family(calls [][]int, table ...int) []byte {
	var bodies, names, slots [][]byte
	decls := make([]byte, len(calls))
	for i, list := range calls {
		var code []byte
		for _, to := range list {
			if to < 0 {
				code = append(code, opI32Const, 0, 0x11, 0, 0)
			} else {
				code = append(code, cat(0x10, u32(uint32(to)))...)
			}
		}
		bodies = append(bodies, fn(noLocals, code))
		names = append(names, cat(u32(uint32(i)), name(letter(i))))
	}
	for _, f := range table {
		slots = append(slots, u32(uint32(f)))
	}
	n := len(table)
	return module(
		section(secType, funcType(types(), types())),
		rawSection(secFunction, vec(splitBytes(decls)...)),
		section(secTable, cat(FuncRef, 1, n, n)),
		section(secExport, cat(name("go"), 0, 0)),
		section(secElement, cat(0, opI32Const, 0, opEnd, vec(slots...))),
		section(secCode, bodies...),
		rawSection(secCustom, name("name"), functionNamesID, appendSized(nil, vec(names...))),
	)
}

func letter(i int) string { return string(rune('a' + i)) }

func splitBytes(b []byte) (out [][]byte) {
	for _, x := range b {
		out = append(out, []byte{x})
	}
	return out
}

func cycles(t interface {
	Helper()
	Fatal(...any)
}, wasm []byte, skip string) string {
	t.Helper()
	d, err := Describe(wasm, testLimits())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range d.Recursion(func(_ int, f *Function) bool { return strings.Contains(skip, f.Name) && f.Name != "" }) {
		s := ""
		for _, f := range c.Functions {
			s += d.Functions[f].Name
		}
		all = append(all, fmt.Sprintf("%s/%d/%v", s, c.Group, c.Table))
	}
	return strings.Join(all, " ")
}

func TestRecursionIsFound(t *testing.T) {
	for _, c := range []struct {
		what  string
		calls [][]int
		table []int
		skip  string
		want  string
	}{
		{"none", [][]int{{1, 2}, {2}, {}}, nil, "", ""},
		{"a function that calls itself", [][]int{{1}, {1}}, nil, "", "b/1/false"},
		{"a cycle of three, by its shortest way", [][]int{{1, 2}, {2}, {0}}, nil, "", "ac/3/false"},
		{"two cycles", [][]int{{1, 3}, {2}, {1}, {3}}, nil, "", "bc/2/false d/1/false"},
		{"what nothing reaches does not count", [][]int{{1}, {}, {2}}, nil, "", ""},
		{"through the table", [][]int{{1}, {-1}, {1}}, []int{2}, "", "cb/2/true"},
		{"the table holds nothing that comes back", [][]int{{1}, {-1}, {}}, []int{2}, "", ""},
		{"a function that finds itself in the table", [][]int{{-1}}, []int{0}, "", "a/1/true"},
		{"directly, and through the table as well", [][]int{{1}, {0, -1}}, []int{0}, "", "ab/2/false ab/2/true"},
		{"a runtime's own is left out", [][]int{{1, 2}, {1}, {2}}, nil, "b", "c/1/false"},
		{"and what needs it", [][]int{{1}, {0}}, nil, "b", ""},
	} {
		if got := cycles(t, family(c.calls, c.table...), c.skip); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// A cycle is found exactly where following the calls from the first function comes back to a function.
func TestRecursionIsWhatFollowingCallsFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "functions")
		calls := make([][]int, n)
		for i := range calls {
			calls[i] = rapid.SliceOfN(rapid.IntRange(-1, n-1), 0, 3).Draw(t, "calls")
		}
		table := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 3).Draw(t, "table")
		got := cycles(t, family(calls, table...), "") != ""
		if want := comesBack(calls, table); got != want {
			t.Fatalf("calls %v, table %v: found %v, want %v", calls, table, got, want)
		}
	})
}

// comesBack walks every chain of calls from the first function, with a set of what is on it.
func comesBack(calls [][]int, table []int) bool {
	on := make([]bool, len(calls))
	var walk func(f int) bool
	walk = func(f int) bool {
		if on[f] {
			return true
		}
		on[f] = true
		defer func() { on[f] = false }()
		return slices.ContainsFunc(calls[f], func(to int) bool {
			if to < 0 {
				return slices.ContainsFunc(table, walk)
			}
			return walk(to)
		})
	}
	return walk(0)
}

func TestWhatAModuleSaysOfItself(t *testing.T) {
	wasm := slices.Concat(family([][]int{{1}, {}}, 1), rawSection(secCustom, name("producers"), "xyz"))
	d, err := Describe(wasm, testLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Functions) != 2 || d.Functions[1].Name != "b" || d.Functions[0].Bytes != 4 || d.Functions[1].Bytes != 2 {
		t.Errorf("functions %+v", d.Functions)
	}
	last := d.Sections[len(d.Sections)-1]
	if last.Name != "producers" || string(last.Body) != "xyz" || d.Sections[0].Name != "type" {
		t.Errorf("sections %+v", d.Sections)
	}
	if i, ok := d.Exported("go"); !ok || i != 0 {
		t.Errorf("export at %d, %v", i, ok)
	}
	if _, ok := d.Exported("went"); ok {
		t.Error("an export that is not there")
	}
	_, err = Describe(wasm[:20], testLimits())
	if e := (*Error)(nil); !errors.As(err, &e) {
		t.Errorf("truncated: %v", err)
	}
}

// FuzzDescribe: it takes exactly what Rewrite takes, and its analysis ends.
func FuzzDescribe(f *testing.F) {
	for _, wasm := range endless {
		f.Add(wasm)
	}
	f.Add(family([][]int{{1, -1}, {0, 1}}, 0, 1))
	gen := rapid.Custom(program.Build)
	for seed := range 10 {
		f.Add(gen.Example(seed))
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		lim := testLimits()
		lim.MaxBytes = 1 << 16
		d, err := Describe(wasm, lim)
		if _, refused := Rewrite(wasm, lim); (err == nil) != (refused == nil) {
			t.Fatalf("described: %v; rewritten: %v", err, refused)
		}
		if err != nil {
			return
		}
		for _, c := range d.Recursion(func(int, *Function) bool { return false }) {
			if len(c.Functions) == 0 || c.Group < len(c.Functions) {
				t.Fatalf("cycle %+v", c)
			}
		}
	})
}
