package llama

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama/internal/gguf"
)

func TestConvertedModelStillSpeaks(t *testing.T) {
	libs, published, _ := testPaths(t)
	out := filepath.Join(t.TempDir(), "m.Q8_0.gguf")
	calls, last := 0, 0
	err := Convert(context.Background(), libs, published, out, ConvertOptions{Type: "Q8_0"}, func(done, total int, tensor string) {
		if calls++; done != calls || total != 272 || tensor == "" {
			t.Errorf("progress %d of %d, %q, in call %d", done, total, tensor, calls)
		}
		last = done
	})
	if err != nil || last != 272 {
		t.Fatalf("%v after %d tensors", err, last)
	}
	h, err := gguf.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, ten := range h.Tensors {
		if len(ten.Dims) == 2 && ten.Type != gguf.Q8_0 {
			t.Errorf("%s is %v", ten.Name, ten.Type)
		}
	}
	d := open(t, func(o *Options) { o.ModelPath = out })
	tokens, _ := alone(t, d, encode(t, d, "One, two, three, four,"), 6)
	if text := spell(d.Tokenizer(), tokens); !strings.Contains(text, " five, six") {
		t.Errorf("the converted model says %q", text)
	}
	err = Convert(context.Background(), libs, published, out, ConvertOptions{Type: "q8_0"}, nil)
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a second time: %v", err)
	}
	onlyFile(t, out)
}

func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestConvertRefusesBeforeItWrites(t *testing.T) {
	libs, published, _ := testPaths(t)
	dir := t.TempDir()
	page := filepath.Join(dir, "page.gguf")
	if err := os.WriteFile(page, []byte("GGUF? no"), 0o600); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 2<<20)
	if f, err := os.Open(published); err != nil {
		t.Fatal(err)
	} else if _, err := f.Read(head); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.gguf")
	if err := os.WriteFile(cut, head, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out", "x.gguf")
	if err := os.Mkdir(filepath.Dir(out), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in, out string
		o       ConvertOptions
		says    string
	}{
		"no type":          {published, out, ConvertOptions{}, "iq4_nl"},
		"unknown type":     {published, out, ConvertOptions{Type: "q9"}, "iq4_nl"},
		"unknown output":   {published, out, ConvertOptions{Type: "q8_0", OutputType: "q9"}, "q9"},
		"missing input":    {filepath.Join(dir, "none"), out, ConvertOptions{Type: "q8_0"}, "no such file"},
		"not a model":      {page, out, ConvertOptions{Type: "q8_0"}, "GGUF"},
		"half a model":     {cut, out, ConvertOptions{Type: "q8_0"}, "corrupted or incomplete"},
		"onto itself":      {cut, cut, ConvertOptions{Type: "q8_0", Overwrite: true}, "same file"},
		"onto a folder":    {published, dir, ConvertOptions{Type: "q8_0", Overwrite: true}, "folder"},
		"into no folder":   {published, filepath.Join(dir, "a", "b"), ConvertOptions{Type: "q8_0"}, "no such file"},
		"too many threads": {published, out, ConvertOptions{Type: "q8_0", Threads: 1 << 20}, "threads"},
	} {
		err := Convert(context.Background(), libs, c.in, c.out, c.o, nil)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (usage error: %v), should say %q", name, err, errors.Is(err, ErrUsage), c.says)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestConvertStopsWithItsContext(t *testing.T) {
	libs, published, _ := testPaths(t)
	out := filepath.Join(t.TempDir(), "x.gguf")
	ctx, cancel := context.WithCancel(context.Background())
	err := Convert(ctx, libs, published, out, ConvertOptions{Type: "q8_0"}, func(int, int, string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
