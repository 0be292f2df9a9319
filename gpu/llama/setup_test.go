package llama

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSetupNamesWhatStepTimesDependOn(t *testing.T) {
	_, published, fast := testPaths(t)
	link := filepath.Join(t.TempDir(), filepath.Base(fast))
	data, err := os.ReadFile(fast)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, data, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*Options){
		"nothing": nil, "layout": split, "type": func(o *Options) { o.KVType = KVQ8_0 }, "cache": func(o *Options) { o.KVTokens = 2048 },
		"sequences": func(o *Options) { o.MaxSeqs = 5 }, "batch": func(o *Options) { o.MaxBatchTokens = 128 },
		"flash": func(o *Options) { o.FlashAttention = FlashOff }, "model": func(o *Options) { o.ModelPath = published },
		"a copy of the model": func(o *Options) { o.ModelPath = link },
	} {
		s := open(t, change).Setup()
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s have the setup %s", name, other, s)
		}
		seen[s] = name
		if name == "nothing" && open(t, change).Setup() != s {
			t.Error("a second device has another setup")
		}
	}
	linked := func(o *Options) { o.ModelPath = link }
	before := open(t, linked).Setup()
	if err := os.Chtimes(link, time.Time{}, time.Unix(1700000000, 0)); err != nil {
		t.Fatal(err)
	}
	if open(t, linked).Setup() == before {
		t.Error("a model that was changed has the setup it had")
	}
	t.Log(before)
}

// Without flash attention the cache is f16, and the device says what is lost.
func TestFlashAttentionOff(t *testing.T) {
	d := open(t, func(o *Options) { o.FlashAttention = FlashOff })
	if d.ctx.opts.KVType != KVF16 || len(d.Info().Warnings) == 0 {
		t.Errorf("KV type %s, warnings %q", d.ctx.opts.KVType, d.Info().Warnings)
	}
	tokens, _ := alone(t, d, encode(t, d, "One, two, three, four,"), 4)
	if text := spell(d.Tokenizer(), tokens); text != "One, two, three, four, five, six," {
		t.Errorf("the model says %q", text)
	}
}
