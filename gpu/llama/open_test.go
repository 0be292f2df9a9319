package llama

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/jupiterrider/ffi"

	"github.com/sluice-dev/sluice/gpu"
)

func TestWrongUseIsAUsageError(t *testing.T) {
	o := small(t, nil)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	head := make([]byte, 2<<20)
	f, err := os.Open(o.ModelPath)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(head); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "unlinked"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"unlinked/libllama.v0.5.0.so", "unlinked/libggml.v0.5.0.so", "unlinked/libggml-base.so"} {
		write(n, nil)
	}
	cases := map[string]struct {
		change func(*Options)
		says   string
	}{
		"no model":             {func(o *Options) { o.ModelPath = "" }, "--model"},
		"missing model":        {func(o *Options) { o.ModelPath = filepath.Join(dir, "none.gguf") }, "no such file"},
		"folder as model":      {func(o *Options) { o.ModelPath = dir }, "regular file"},
		"not a model":          {func(o *Options) { o.ModelPath = write("page.gguf", []byte("<html>")) }, "GGUF"},
		"half a header":        {func(o *Options) { o.ModelPath = write("half.gguf", head[:1<<16]) }, "ends inside"},
		"half a model":         {func(o *Options) { o.ModelPath = write("cut.gguf", head) }, "cut.gguf"},
		"no libraries":         {func(o *Options) { o.LibDir = "" }, "--llama-lib"},
		"missing libraries":    {func(o *Options) { o.LibDir = filepath.Join(dir, "none") }, "make setup"},
		"libraries unlinked":   {func(o *Options) { o.LibDir = filepath.Join(dir, "unlinked") }, "link it to libggml.v0.5.0.so"},
		"device not offered":   {func(o *Options) { o.Device = "CUDA7" }, "they offer cpu ("},
		"a kind of device":     {func(o *Options) { o.Device = "cuda" }, "they offer cpu ("},
		"threads beyond cores": {func(o *Options) { o.Threads = runtime.NumCPU() + 1 }, "threads"},
		"negative threads":     {func(o *Options) { o.Threads = -1 }, "threads"},
		"sequences over 256":   {func(o *Options) { o.MaxSeqs = 257 }, "256"},
		"batch below seqs":     {func(o *Options) { o.MaxSeqs, o.MaxBatchTokens = 64, 32 }, "batch"},
		"cache below seqs":     {func(o *Options) { o.KVTokens, o.MaxSeqs, o.MaxBatchTokens = 16, 64, 64 }, "KV cache"},
		"huge cache":           {func(o *Options) { o.KVTokens = 1 << 30 }, "KV cache"},
		"cache beyond memory":  {func(o *Options) { o.KVTokens = maxKVTokens }, "MiB"},
		"context over cache":   {func(o *Options) { o.ContextTokens = 2048 }, "fit"},
		"context untrained":    {func(o *Options) { o.ContextTokens, o.KVTokens = 8193, 0 }, "trained for 8192"},
		"split context":        {func(o *Options) { o.ContextTokens, o.KVLayout = 512, LayoutSplit }, "part"},
		"KV type":              {func(o *Options) { o.KVType = "q3" }, "q8_0"},
		"KV layout":            {func(o *Options) { o.KVLayout = "heap" }, "unified"},
		"flash attention":      {func(o *Options) { o.FlashAttention = "yes" }, "auto"},
		"q8_0 without flash":   {func(o *Options) { o.FlashAttention, o.KVType = FlashOff, KVQ8_0 }, "needs flash attention"},
		"GPU layers":           {func(o *Options) { o.GPULayers = -1 }, "layers"},
		"GPU layers on a CPU":  {func(o *Options) { o.GPULayers = 4 }, "--device"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := o
			c.change(&o)
			d, err := Open(o)
			if err == nil {
				_ = d.Close()
				t.Fatal("it opens")
			}
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v (usage error: %v), should say %q", err, errors.Is(err, ErrUsage), c.says)
			}
			if testing.Verbose() {
				t.Log(err)
			}
		})
	}
}

// A library that is there but is not the one that the bindings describe must be refused before it is called.
func TestForeignLibraryIsRefused(t *testing.T) {
	libs, _, _ := testPaths(t)
	dir := t.TempDir()
	for _, name := range []string{"libllama.so", "libggml.so", "libggml-base.so"} {
		if err := os.Symlink(filepath.Join(libs, "libggml-base.so"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var fn functions
	if err := loadInto(&fn, dir); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "not llama.cpp v0.5.0") {
		t.Errorf("%v", err)
	}
}

func TestDefaultsFitTheModel(t *testing.T) {
	libs, _, fast := testPaths(t)
	d, err := Open(Options{LibDir: libs, ModelPath: fast, Device: DeviceCPU})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got := d.Info()
	want := gpu.Info{Device: "cpu", DeviceName: got.DeviceName, Model: "SmolLM2-135M-Instruct.IQ4_NL", ModelPath: fast,
		VocabSize: 49152, ContextTokens: 8192, KVTokens: 16384, MaxSeqs: 16, MaxBatchTokens: 512}
	if got.Warnings != nil && runtime.GOARCH == "amd64" {
		t.Errorf("warnings: %q", got.Warnings)
	}
	got.Warnings = nil
	if got.DeviceName == "" || got.Device != want.Device || got.Model != want.Model || got.VocabSize != want.VocabSize ||
		got.ContextTokens != want.ContextTokens || got.KVTokens != want.KVTokens || got.MaxSeqs != want.MaxSeqs || got.MaxBatchTokens != want.MaxBatchTokens {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestChooseDeviceNeverFallsBack(t *testing.T) {
	cpu, cuda := DeviceInfo{Name: "cpu"}, DeviceInfo{Name: "CUDA0", GPU: true}
	for _, c := range []struct {
		want    string
		offered []DeviceInfo
		got     string
	}{
		{"cpu", []DeviceInfo{cuda, cpu}, "cpu"},
		{"auto", []DeviceInfo{cpu, cuda}, "CUDA0"},
		{"auto", []DeviceInfo{cpu}, "cpu"},
		{"cuda0", []DeviceInfo{cpu, cuda}, "CUDA0"},
		{"CUDA1", []DeviceInfo{cpu, cuda}, ""},
		{"cuda", []DeviceInfo{cpu}, ""},
		{"cuda", []DeviceInfo{cpu, cuda, {Name: "CUDA1", GPU: true}}, "CUDA0"},
		{"vulkan", []DeviceInfo{cpu, cuda}, ""},
		{"auto", nil, ""},
	} {
		d, err := chooseDevice(c.want, c.offered)
		if d.Name != c.got || (err == nil) != (c.got != "") {
			t.Errorf("%q out of %v: %q, %v", c.want, c.offered, d.Name, err)
		}
	}
}

// Of libraries that offer a GPU but not the one that was asked for, it is not said that they or the driver lack something.
func TestTheHintIsForThoseWhoHaveNone(t *testing.T) {
	cpu, cuda := DeviceInfo{Name: "cpu"}, DeviceInfo{Name: "CUDA0", GPU: true}
	for _, c := range []struct {
		want    string
		offered []DeviceInfo
		says    string
	}{
		{"cuda", []DeviceInfo{cpu}, "make setup-cuda"},
		{"CUDA1", []DeviceInfo{cpu}, "make setup-cuda"},
		{"CUDA1", []DeviceInfo{cuda, cpu}, ""},
		{"vulkan", []DeviceInfo{cpu}, ""},
	} {
		if hint := hintOf(c.want, t.TempDir(), c.offered); !strings.Contains(hint, c.says) || c.says == "" && hint != "" {
			t.Errorf("%s out of %v: %q", c.want, c.offered, hint)
		}
	}
}

// Nobody who has set up the libraries for a GPU serves on the CPU without a word.
func TestTheCPUInPlaceOfAGPUIsMentioned(t *testing.T) {
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "libggml-cuda.so"), []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		device, dir string
		chosen      DeviceInfo
		warns       bool
	}{
		{DeviceAuto, broken, DeviceInfo{Name: "cpu"}, true},
		{DeviceCPU, broken, DeviceInfo{Name: "cpu"}, false},
		{DeviceAuto, t.TempDir(), DeviceInfo{Name: "cpu"}, false},
		{DeviceAuto, broken, DeviceInfo{Name: "Vulkan0", GPU: true}, false},
	} {
		w := (&Context{opts: Options{Device: c.device, LibDir: c.dir}, device: c.chosen}).deviceWarnings()
		if (len(w) == 1) != c.warns || c.warns && !strings.Contains(w[0], "cannot be loaded") {
			t.Errorf("%s, %v: %q", c.device, c.chosen, w)
		}
	}
}

// Draft heads are GGUF files of kinds that are no language models by themselves.
func TestOddModelsOpenOrAreRefused(t *testing.T) {
	models, _ := filepath.Glob(filepath.Join(sharedDir(t), "models", "*.gguf"))
	if len(models) == 0 {
		t.Skip("no shared models")
	}
	for _, m := range models {
		t.Run(filepath.Base(m), func(t *testing.T) {
			d, err := Open(small(t, func(o *Options) { o.ModelPath, o.KVTokens = m, 512 }))
			if err != nil {
				if !errors.Is(err, ErrUsage) {
					t.Errorf("not a usage error: %v", err)
				}
				t.Log(err)
				return
			}
			defer d.Close()
			forward(t, d, gpu.Item{Seq: 0, Tokens: []gpu.Token{1, 2, 3}, Logits: 1})
			row(t, d, 0, 0)
		})
	}
}

func sharedDir(t *testing.T) string {
	if dir := os.Getenv("SLUICE_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "shared", "models")); err == nil {
			return filepath.Join(dir, "shared")
		}
	}
	t.Skip("no shared folder")
	return ""
}

func TestNoBacktraceIsSetWhereTheLibraryReadsIt(t *testing.T) {
	libs, _, _ := testPaths(t)
	if err := LoadLibrary(libs, nil); err != nil {
		t.Fatal(err)
	}
	getenv, err := ffi.Lib{Addr: purego.RTLD_DEFAULT}.Prep("getenv", &ffi.TypePointer, &ffi.TypePointer)
	if err != nil {
		t.Fatal(err)
	}
	name := &[]byte("GGML_NO_BACKTRACE\x00")[0]
	var value *byte
	getenv.Call(&value, &name)
	if value == nil || *value != '1' {
		t.Error("GGML_NO_BACKTRACE is not 1 in the C environment")
	}
}

func TestDefaultPathsFollowTheCache(t *testing.T) {
	t.Setenv("SLUICE_CACHE", "/c")
	libs, published, fast, err := DefaultPaths()
	if err != nil || !strings.HasPrefix(libs, "/c/llama.cpp-v0.5.0-") || published != "/c/models/SmolLM2-135M-Instruct.Q4_1.gguf" || fast != "/c/models/SmolLM2-135M-Instruct.IQ4_NL.gguf" {
		t.Errorf("%q %q %q %v", libs, published, fast, err)
	}
	t.Setenv("SLUICE_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "/x")
	if libs, _, _, err := DefaultPaths(); err != nil || !strings.HasPrefix(libs, "/x/sluice/") {
		t.Errorf("%q %v", libs, err)
	}
}
