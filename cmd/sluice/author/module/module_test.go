package module

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/meter"
	"github.com/sluice-dev/sluice/policies"
)

func TestShippedModules(t *testing.T) {
	for _, m := range policies.Shipped() {
		i, err := Inspect(m.Wasm)
		if err != nil {
			t.Fatal(err)
		}
		if i.Language != "Go" || i.ABIMajor != abi.Major || i.ABIMinor != -1 || i.Bytes != len(m.Wasm) || len(i.Digest) != 64 {
			t.Errorf("%s: %+v", m.Name, i)
		}
		sum := 0
		for _, s := range i.Sections {
			sum += s.Bytes
		}
		if sum > i.Bytes || sum < i.Bytes-200 {
			t.Errorf("%s: its sections have %d of %d bytes", m.Name, sum, i.Bytes)
		}
		if len(i.Biggest) != most || !slices.IsSortedFunc(i.Biggest, func(a, b Function) int { return b.Bytes - a.Bytes }) {
			t.Errorf("%s: biggest functions %v", m.Name, i.Biggest)
		}
	}
}

// section is a custom section of one-byte lengths.
func text(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func TestProducers(t *testing.T) {
	whole := slices.Concat([]byte{2}, text("language"), []byte{1}, text("Rust"), text(""), text("processed-by"), []byte{2},
		text("rustc"), text("1.95"), text("clang"), text("14"))
	all := []Producer{{"language", "Rust", ""}, {"processed-by", "rustc", "1.95"}, {"processed-by", "clang", "14"}}
	if got := producers(whole); !slices.Equal(got, all) {
		t.Errorf("%v", got)
	}
	for n := range len(whole) { // cut short, it says what it has said until then
		got := producers(whole[:n])
		if len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
			t.Errorf("of %d bytes: %v", n, got)
		}
	}
}

func TestLanguages(t *testing.T) {
	named := func(name string) *meter.Description {
		return &meter.Description{Functions: []meter.Function{{Name: name}}}
	}
	for _, c := range []struct {
		d    *meter.Description
		made []Producer
		want string
	}{
		{&meter.Description{}, nil, ""},
		{&meter.Description{}, []Producer{{"language", "Rust", ""}}, "Rust"},
		{&meter.Description{}, []Producer{{"language", "C11", ""}}, "C"},
		{&meter.Description{}, []Producer{{"language", "C_plus_plus_14", ""}}, "C++"},
		{&meter.Description{}, []Producer{{"processed-by", "Debian clang", "14"}}, "C"},
		{&meter.Description{Sections: []meter.Section{{Name: "go:buildid"}}}, nil, "Go"},
		{named("~lib/rt/stub/__alloc"), nil, "AssemblyScript"},
		{&meter.Description{Data: [][]byte{[]byte("..~\x00l\x00i\x00b\x00/\x00r\x00t\x00")}}, nil, "AssemblyScript"},
		{named("_ZN4core3fmt5Write"), nil, "Rust"},
		{named("admit"), nil, ""},
	} {
		if got := language(c.d, c.made); got != c.want {
			t.Errorf("%+v, %v: %q, want %q", c.d, c.made, got, c.want)
		}
	}
}

func TestLibrariesAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		lang, name string
		want       bool
	}{
		{"Go", "runtime.gopanic", true}, {"Go", "internal_runtime_maps.mapKeyError2", true}, {"Go", "main._policy_.Admit", false},
		{"Go", "github.com_sluice-dev_sluice_sdk_go.callAdmit", false}, {"Go", "", true},
		{"Rust", "_RNvXs1i_NtCsgXGp5Oqx2Ny_4core3fmtReNtB6_7Display3fmtB8_", true}, {"Rust", "_ZN4core3fmt9Formatter3pad17h0E", true}, {"Rust", "_ZN4mine6decide17h0E", false}, {"Rust", "__rust_alloc", true},
		{"Rust", "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0E", true},
		{"Rust", "_ZN44_$LT$$RF$T$u20$as$u20$core..fmt..Display$GT$3fmt17h0E", true}, {"Rust", "_ZN41_$LT$u32$u20$as$u20$mine..Trait$GT$3run17h0E", false},
		{"Rust", "_ZN40_$LT$mine..P$u20$as$u20$core..fmt..Display$GT$3fmt17h0E", false},
		{"Rust", "_RNvNtCsgXGp5Oqx2Ny_4core3str16slice_error_fail", true}, {"Rust", "_RNvCs1234_4mine6decide", false},
		{"Rust", "_RNvXs_Cs1234_4mineNtB4_1PNtNtCsgXGp5Oqx2Ny_4core3fmt7Display3fmt", false}, {"Rust", "sluice_admit", false},
		{"Rust", "_RNvMsa_NtCsgXGp5Oqx2Ny_4core3fmtNtB5_9Formatter12pad_integral", true}, {"Rust", "_RNvCskx_9corelated4call", false},
		{"AssemblyScript", "~lib/rt/itcms/__visit", true}, {"AssemblyScript", "assembly/index/admit", false},
		{"C", "decide", false}, {"", "", false},
	} {
		if got := library(c.lang, c.name); got != c.want {
			t.Errorf("%s %s: %v", c.lang, c.name, got)
		}
	}
}

func TestDescriptorsInTheDataAreFound(t *testing.T) {
	want := abi.Descriptor{Magic: abi.Magic, Major: abi.Major, Minor: 1, Hooks: uint32(abi.HookAdmit), Reads: uint32(abi.GroupSpeed)}
	bytes := slices.Clone(abi.Bytes(&want))
	fake := binary.LittleEndian.AppendUint32(nil, abi.Magic) // the magic alone, as code that fills a descriptor in has it
	for _, c := range []struct {
		data [][]byte
		want bool
	}{
		{nil, false},
		{[][]byte{fake}, false},
		{[][]byte{append(fake, make([]byte, 100)...)}, false},
		{[][]byte{{1, 2, 3}, append([]byte("pad"), bytes...)}, true},
		{[][]byte{append(slices.Clone(fake), bytes...)}, true},
		{[][]byte{bytes[:60]}, false},
	} {
		if got, ok := descriptor(c.data); ok != c.want || ok && got != want {
			t.Errorf("%v: %+v, %v", c.data, got, ok)
		}
	}
}

// FuzzInspect: no module makes it panic.
func FuzzInspect(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00"), []byte("\x01\x08language\x01\x04Rust\x00"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\x0a\x09producers"), []byte("\x00"))
	f.Fuzz(func(t *testing.T, wasm, body []byte) {
		if i, err := Inspect(wasm); err == nil && i.Bytes != len(wasm) {
			t.Fatalf("%+v", i)
		}
		for _, p := range producers(body) {
			if len(p.Name)+len(p.Version) > 3*len(body) {
				t.Fatalf("%+v of %d bytes", p, len(body))
			}
		}
	})
}
