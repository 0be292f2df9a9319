package engine_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
)

// publishedModel stands for the model as it was published, which guesses well and not always what the converted one says.
const publishedModel = "published"

// onModel starts an engine on the model that set-up installed, or skips the test where there is none.
func onModel(t *testing.T, layout string, change func(*engine.Config)) *fixture {
	t.Helper()
	return onDevice(t, func(o *llama.Options) { o.KVLayout = layout }, change)
}

// onDevice is onModel with other options of the device. DraftModel may be publishedModel.
func onDevice(t *testing.T, device func(*llama.Options), change func(*engine.Config)) *fixture {
	t.Helper()
	libs, published, model, err := llama.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{libs, published, model} {
		if _, err := os.Stat(p); err != nil {
			if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
				t.Fatalf("%v: run make setup", err)
			}
			t.Skipf("%v: run make setup to test on the real model", err)
		}
	}
	// One thread: two wait for each other when other tests take the CPUs.
	o := llama.Options{LibDir: libs, ModelPath: model, Device: llama.DeviceCPU, Threads: 1, KVTokens: 1024, MaxSeqs: 4, MaxBatchTokens: 128}
	device(&o)
	if o.DraftModel == publishedModel {
		o.DraftModel = published
	}
	dev, err := llama.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	info := dev.Info()
	f := &fixture{tok: dev.Tokenizer()}
	cfg := engine.Config{Device: dev, Tokenizer: dev.Tokenizer(), Drafter: dev.Drafter(), Sched: sched.DefaultConfig(info.MaxSeqs, info.MaxBatchTokens, info.ContextTokens, info.KVTokens)}
	cfg.Sched.MaxDraft = 15
	if change != nil {
		change(&cfg)
	}
	if f.Engine, err = engine.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// modelRequests are texts that repeat themselves, so that n-grams find something, half of them drawn at a temperature. Some begin alike.
func modelRequests(t *testing.T, tok gpu.Tokenizer, n int) []engine.Request {
	t.Helper()
	var reqs []engine.Request
	for i := range n {
		text := "A list of fruit: apple, pear, plum, apple, pear, plum, apple, pear, plum, apple, pear, plum, apple, pear, plum, "
		if i%3 == 2 {
			text = strings.Repeat(fmt.Sprintf("%d little birds sat on a wall in the warm evening sun and sang about the sea. ", i), 2) + fmt.Sprint(i, " little birds")
		}
		if i%3 == 1 {
			text += "and again: apple, pear,"
		}
		p, err := tok.Encode(text, false)
		if err != nil {
			t.Fatal(err)
		}
		req := engine.Request{ID: fmt.Sprint(i), Prompt: p, MaxTokens: 20 + i, IgnoreEOS: true}
		if i%2 == 1 {
			req.Sampling = spec.Params{Temperature: 0.8, TopP: 0.95, Seed: uint64(i)}
		}
		reqs = append(reqs, req)
	}
	return reqs
}

// serve serves all at once, and beside them some that leave.
func (f *fixture) serve(t *testing.T, reqs []engine.Request) (texts []string, cached int) {
	t.Helper()
	texts = make([]string, len(reqs))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, req := range reqs {
		if i%3 == 0 {
			mate := req
			mate.ID, mate.Prompt = "mate", req.Prompt[:len(req.Prompt)/2]
			s := f.submit(t, mate)
			wg.Go(func() {
				<-s.Events()
				s.Cancel()
				read(s)
			})
		}
		s := f.submit(t, req)
		wg.Go(func() {
			text, _ := read(s)
			if r := s.Result(); r.Outcome != sched.OutcomeLength {
				t.Errorf("request %s ended as %v: %v", req.ID, r.Outcome, r.Err)
			}
			mu.Lock()
			defer mu.Unlock()
			texts[i] = text
			cached += s.Result().CachedTokens
		})
	}
	wg.Wait()
	return texts, cached
}

// Under split KV the text of the real model is the same, bit for bit, alone and in any company.
func TestTheModelsTextIsExactUnderSplitKV(t *testing.T) {
	const n = 6
	alone := onModel(t, llama.LayoutSplit, func(c *engine.Config) { c.NoPrefixCache = true })
	reqs := modelRequests(t, alone.tok, n)
	want := make([]string, n)
	for i := range reqs {
		want[i], _ = read(alone.submit(t, reqs[i]))
	}
	for _, c := range []struct {
		name  string
		costs gpu.Costs
		cache bool
	}{
		{"computed again, no cache", recomputeCosts, false},
		{"saved and restored, with the cache", saveCosts, true},
		{"computed again, with the cache", recomputeCosts, true},
	} {
		f := onModel(t, llama.LayoutSplit, func(ec *engine.Config) {
			ec.NoPrefixCache = !c.cache
			ec.Policies = &source{d: restless{}}
			s := &ec.Sched
			tight(s)
			s.Costs, s.MaxSaved = c.costs, 4096
			if c.cache {
				shares(ec)
			}
		})
		got, cached := f.serve(t, reqs)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s, request %d: %q, alone %q", c.name, i, got[i], want[i])
			}
		}
		s := f.settled(t)
		t.Logf("%s: %d of %d drafts accepted, %d preemptions, %d restored, %d tokens cached, %+v", c.name,
			s.Stats.Accepted, s.Stats.Drafted, s.Stats.Preemptions, s.Stats.Restores, cached, s.Faults)
		if s.Stats.Accepted == 0 || s.Stats.Preemptions == 0 || (s.Stats.Restores > 0) != (c.costs == saveCosts) || (cached > 0) != c.cache {
			t.Errorf("%s: the comparison leaves something out", c.name)
		}
	}
}

// Alone the text is exact under the unified KV as well, with the type that is exact.
func TestTheModelsTextIsExactAloneUnderUnifiedKV(t *testing.T) {
	var texts [2][]string
	for i, k := range []uint32{0, 15} {
		f := onDevice(t, func(o *llama.Options) { o.KVLayout, o.KVType = llama.LayoutUnified, llama.KVQ8_0 }, func(c *engine.Config) {
			c.NoPrefixCache = true
			c.Policies = &source{d: fixedK{k}}
		})
		for _, req := range modelRequests(t, f.tok, 4) {
			text, _ := read(f.submit(t, req))
			texts[i] = append(texts[i], text)
		}
		if s := f.settled(t).Stats; (s.Accepted > 0) != (k > 0) {
			t.Errorf("k %d: %d drafts accepted", k, s.Accepted)
		}
	}
	if a, b := strings.Join(texts[0], "|"), strings.Join(texts[1], "|"); a != b {
		t.Errorf("without drafts %q, with drafts %q", a, b)
	}
}
