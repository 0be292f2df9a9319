package llama

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama/internal/gguf"
)

// patch writes a copy of a GGUF file in which n bytes after a key of the header and skip more are other ones.
func patch(t testing.TB, file, key string, skip int, value ...any) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, uint64(len(key))))
	for ; at >= 0 && !bytes.HasPrefix(data[at+8:], []byte(key)); at++ {
		next := bytes.Index(data[at+1:], binary.LittleEndian.AppendUint64(nil, uint64(len(key))))
		if next < 0 {
			t.Fatalf("no key %s", key)
		}
		at += next
	}
	var b bytes.Buffer
	for _, v := range value {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	copy(data[at+8+len(key)+skip:], b.Bytes())
	return write(t, data)
}

func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patched.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Where a number, and the first number of a list, stand behind their key.
const (
	afterKind = 4
	afterList = 4 + 4 + 8
)

// withToken gives a copy of the EAGLE-3 head in which one entry of its list of tokens is another one.
func withToken(t testing.TB, file string, entry int, token int64) string {
	t.Helper()
	h, err := gguf.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := h.ReadInts(file, "d2t")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	_ = binary.Write(&list, binary.LittleEndian, ids)
	at := bytes.Index(data, list.Bytes())
	binary.LittleEndian.PutUint64(data[at+8*entry:], uint64(token))
	return write(t, data)
}

// withoutBlock gives a copy of an MTP model that lacks the tensors of its block, which are the last ones, but declares it.
func withoutBlock(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h, err := gguf.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := "blk.2.nextn.eh_proj.weight"
	cut := bytes.Index(data, []byte(name)) - 8
	left := 0
	for h.Tensors[left].Name != name {
		left++
	}
	out := bytes.Clone(data[:cut])
	binary.LittleEndian.PutUint64(out[8:], uint64(left))
	for len(out)%32 != 0 {
		out = append(out, 0)
	}
	return write(t, append(out, data[h.Data:]...))
}

// Each of these is refused by looking at the files. The libraries are not there, so llama.cpp cannot have been asked.
func TestDraftersThatCannotWorkAreRefusedBeforeTheLibraryIsAsked(t *testing.T) {
	_, published, fast := testPaths(t)
	head, tiny := headFile(t, eagleHead), headFile(t, mtpRandom)
	page := write(t, []byte("<html>"))
	for name, c := range map[string]struct {
		drafter, model, draft string
		says                  string
	}{
		"unknown drafter":        {"medusa", fast, "", `use "draft-model", "eagle3" or "mtp"`},
		"no draft model":         {DrafterModel, fast, "", "--draft-model"},
		"no head":                {DrafterEAGLE3, fast, "", "--draft-model"},
		"a file nobody reads":    {DrafterMTP, tiny, head, "not asked for"},
		"a file and no drafter":  {"", fast, head, "not asked for"},
		"missing draft model":    {DrafterModel, fast, "none.gguf", "no such file"},
		"page as draft model":    {DrafterModel, fast, page, "not a GGUF"},
		"page as head":           {DrafterEAGLE3, fast, page, "not a GGUF"},
		"head as draft model":    {DrafterModel, fast, head, "--drafter eagle3"},
		"model as head":          {DrafterEAGLE3, fast, published, "not an EAGLE-3 head"},
		"llama has no MTP block": {DrafterMTP, fast, "", "this model has no MTP block"},
		"MTP of another family":  {DrafterMTP, patch(t, tiny, "general.architecture", afterKind+8, []byte("glm4mox")), "", "no MTP block"},
		"two MTP blocks":         {DrafterMTP, patch(t, tiny, "glm4moe.nextn_predict_layers", afterKind, uint32(2)), "", "2 MTP blocks"},
		"more blocks than there": {DrafterMTP, patch(t, tiny, "glm4moe.block_count", afterKind, uint32(1)), "", "claims 0 layers"},
		"MTP without tensors":    {DrafterMTP, withoutBlock(t, tiny), "", "lacks its tensor blk.2.nextn.eh_proj.weight"},
		"head on glm4moe":        {DrafterEAGLE3, tiny, head, `architecture "glm4moe"`},
		"wrong hidden size":      {DrafterEAGLE3, fast, patch(t, head, "eagle3.target_hidden_size", afterKind, uint32(640)), "hidden size of 640"},
		"layer 30 of 30":         {DrafterEAGLE3, fast, patch(t, head, "eagle3.target_layers", afterList+8, int32(30)), "layer 30"},
		"layer 1000":             {DrafterEAGLE3, fast, patch(t, head, "eagle3.target_layers", afterList, int32(1000)), "layer 1000"},
		"layer -1":               {DrafterEAGLE3, fast, patch(t, head, "eagle3.target_layers", afterList+4, int32(-1)), "layer -1"},
		"two layers of blocks":   {DrafterEAGLE3, fast, patch(t, head, "eagle3.block_count", afterKind, uint32(2)), "2 layers, not 1"},
		"another vocabulary":     {DrafterEAGLE3, fast, patch(t, head, "eagle3.vocab_size", afterKind, uint32(32000)), "knows 32000 tokens"},
		"narrow values":          {DrafterEAGLE3, fast, patch(t, head, "eagle3.attention.value_length", afterKind, uint32(32)), "differ in length"},
		"narrow head":            {DrafterEAGLE3, fast, patch(t, head, "eagle3.embedding_length", afterKind, uint32(512)), "512 wide"},
		"token beyond the end":   {DrafterEAGLE3, fast, withToken(t, head, 5000, 49152), "entry 5000"},
		"negative token":         {DrafterEAGLE3, fast, withToken(t, head, 0, -1), "entry 0"},
		"token far beyond":       {DrafterEAGLE3, fast, withToken(t, head, 8191, 1<<62), "entry 8191"},
		"a token twice":          {DrafterEAGLE3, fast, withToken(t, head, 1, 2), "not differences"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Open(Options{LibDir: t.TempDir(), ModelPath: c.model, Drafter: c.drafter, DraftModel: c.draft})
			if err == nil {
				_ = d.Close()
				t.Fatal("it opens")
			}
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v (usage error: %v), should say %q", err, errors.Is(err, ErrUsage), c.says)
			}
		})
	}
}

func TestDraftModelNeedsTheSameVocabulary(t *testing.T) {
	_, _, fast := testPaths(t)
	// Two tokens of the same length change places.
	data, err := os.ReadFile(fast)
	if err != nil {
		t.Fatal(err)
	}
	spelled := func(s string) []byte { return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...) }
	at := bytes.Index(data, spelled("hello"))
	copy(data[at:], spelled("hellq"))
	for name, c := range map[string]struct{ file, says string }{
		"other size": {headFile(t, mtpRandom), "512 tokens"},
		"other text": {write(t, data), `"hellq"`},
	} {
		d, err := Open(small(t, draftModel(c.file)))
		if err == nil {
			_ = d.Close()
			t.Fatalf("%s: it opens", name)
		}
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "vocabulary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unguarded is what llama.cpp does with what the checks refuse. Each of these ends the process.
var unguarded = map[string]func(t *testing.T){
	"MTP blocks that were not loaded": func(t *testing.T) {
		d := open(t, both(mtp(t, mtpRandom), func(o *Options) { o.Drafter = "" }))
		_, _ = d.ctx.openSide(d.ctx.Model, 8, 64, func(p *capi.ContextParams) { p.CtxType = capi.ContextTypeMTP })
	},
	"MTP tensors that are missing": func(t *testing.T) {
		d := open(t, both(mtp(t, mtpRandom), func(o *Options) { o.Drafter = "" }))
		model, err := d.ctx.loadModel(withoutBlock(t, d.info.ModelPath), true)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = d.ctx.openSide(model, 8, 64, func(p *capi.ContextParams) { p.CtxType = capi.ContextTypeMTP })
	},
	"a layer beyond the last": func(t *testing.T) {
		d := open(t, nil)
		fn, err := hiddenFunctions()
		if err != nil {
			t.Fatal(err)
		}
		fn.RecordLayer(d.ctx.Handle, 1000, true)
	},
	"the layer after the last": func(t *testing.T) {
		d := open(t, nil)
		fn, err := hiddenFunctions()
		if err != nil {
			t.Fatal(err)
		}
		fn.RecordLayer(d.ctx.Handle, 30, true)
		forward(t, d, gpu.Item{Tokens: []gpu.Token{1, 2}, Logits: 1})
	},
	"layers of an architecture that records none": func(t *testing.T) {
		d := open(t, both(mtp(t, mtpRandom), func(o *Options) { o.Drafter = "" }))
		fn, err := hiddenFunctions()
		if err != nil {
			t.Fatal(err)
		}
		fn.RecordLayer(d.ctx.Handle, 1, true)
		forward(t, d, gpu.Item{Tokens: []gpu.Token{1, 2}, Logits: 1})
	},
	"a token beyond the vocabulary": func(t *testing.T) {
		d := open(t, split)
		d.ctx.opts.Drafter, d.ctx.opts.DraftModel = DrafterEAGLE3, withToken(t, headFile(t, eagleHead), 5000, 1<<40)
		var err error
		if d.draft, err = d.ctx.openDrafter(d); err != nil {
			t.Fatal(err)
		}
		feed(t, d, 0, 0, []gpu.Token{1, 2, 3})
		guess(t, d, 0, []gpu.Token{1, 2, 3, 4}, 1)
	},
}

// The checks are needed: without them the process is gone. Each case runs in a process of its own.
func TestWithoutTheChecksTheProcessEnds(t *testing.T) {
	if name := os.Getenv("SLUICE_TEST_UNGUARDED"); name != "" {
		unguarded[name](t)
		return
	}
	testPaths(t)
	headFile(t, eagleHead)
	headFile(t, mtpRandom)
	for name := range unguarded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^"+strings.SplitN(t.Name(), "/", 2)[0]+"$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), "SLUICE_TEST_UNGUARDED="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("it lives on: %v\n%s", err, out)
			}
			if !bytes.Contains(out, []byte("SIGABRT")) && !bytes.Contains(out, []byte("SIGSEGV")) && exit.ExitCode() != -1 {
				t.Errorf("it ended in another way: %v\n%s", err, out)
			}
		})
	}
}
