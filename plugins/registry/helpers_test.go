package registry

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/store"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

var (
	background = context.Background()
	ada        = By{Who: "ada", Why: "a test"}
)

// rig is a server without a model: a registry, its host, and a loop that is the test's goroutine.
type rig struct {
	*Registry
	t       testing.TB
	h       *plugins.Host
	started Started
	log     *logged
	now     int64
	stop    func()
}

// logged is a log that a test can read.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func begin(t testing.TB, opt Options, configured ...plugins.Policy) *rig {
	t.Helper()
	r, err := try(t, opt, false, configured...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// try starts a rig. At the test's end, or with stop, it ends in the order in which a server does.
func try(t testing.TB, opt Options, safe bool, configured ...plugins.Policy) (*rig, error) {
	t.Helper()
	log := new(logged)
	opt.Log = slog.New(slog.NewTextHandler(log, nil))
	if opt.Poll == 0 {
		opt.Poll = time.Millisecond
	}
	reg, err := Open(opt)
	if err != nil {
		return nil, err
	}
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := plugins.New(rt, plugins.Options{OnEvent: reg.OnEvent, Backoff: plugins.Backoff{First: -1}})
	r := &rig{Registry: reg, t: t, h: h, log: log, now: 1_000_000_000}
	r.stop = sync.OnceFunc(func() {
		reg.Close()
		h.Close()
		if modules, instances := rt.Live(); modules != 0 || instances != 0 {
			t.Errorf("%d modules and %d instances were left open", modules, instances)
		}
		rt.Close()
	})
	t.Cleanup(r.stop)
	if r.started, err = reg.Start(background, h, configured, safe); err != nil {
		r.stop()
	}
	return r, err
}

func policy(name string, mark int32) plugins.Policy {
	return plugins.Policy{Name: name, Wasm: guesttest.Admitter(mark)}
}

// push puts a policy into force that marks its decisions.
func (r *rig) push(name string, mark int32) Result {
	r.t.Helper()
	res, err := r.Push(background, Request{Name: name, Wasm: guesttest.Admitter(mark), By: ada})
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// mark is who decides; 0 for the native default. The set is asked as a loop would, without one beginning.
func (r *rig) mark() uint32 { return r.ask(0) }

// ask shows one row to the set in force, while so many requests wait.
func (r *rig) ask(waiting uint32) uint32 {
	r.now += 1_000_000
	set, _, _ := r.h.Swap(r.now)
	defer r.h.Detach()
	st := abi.State{Size: abi.StateSize, NowNS: r.now, WaitingRequests: waiting}
	out, by := make([]abi.Verdict, 1), make([]abi.PolicyID, 1)
	set.Admit(&st, []abi.Row{{ID: 1, PromptTokens: 10, MaxTokens: 10}}, out, by)
	return out[0].MaxTokensCap
}

// eventually waits for what another goroutine brings about.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for range 5_000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	r.t.Fatalf("never came: %s\n%s", what, r.log)
}

// entries is the whole history, newest first. It must be one line: each change one revision, each refusal none.
func (r *rig) entries() []Entry {
	r.t.Helper()
	r.changing <- struct{}{} // events are recorded meanwhile
	defer r.release()
	all, err := r.History(1<<20, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, e := range all[:max(0, len(all)-1)] {
		step := uint64(1)
		if e.Refused != "" {
			step = 0
		}
		if b := all[i+1]; e.Seq != b.Seq+1 || e.Revision != b.Revision+step {
			r.t.Fatalf("entry %d of revision %d follows entry %d of revision %d", e.Seq, e.Revision, b.Seq, b.Revision)
		}
	}
	if len(all) > 0 && all[0].Revision != r.Snapshot().Revision {
		r.t.Fatalf("the history ends at revision %d, and %d is in force", all[0].Revision, r.Snapshot().Revision)
	}
	return all
}

func (r *rig) names() string {
	var s string
	for _, i := range r.Snapshot().Policies {
		s += fmt.Sprintf("%s:%s ", i.Name, i.State)
	}
	return s
}

// damageModule changes a byte of a stored module.
func damageModule(t testing.TB, dir, digest string) {
	t.Helper()
	path := filepath.Join(dir, "modules", digest+".wasm")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// withoutDisk runs f while no set can be written.
func withoutDisk(t testing.TB, dir string, f func()) {
	t.Helper()
	path := filepath.Join(dir, "manifests")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	f()
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
}

// who lists who did what, newest first.
func who(entries []Entry) (s string) {
	for _, e := range entries {
		s += e.Who + ":" + string(e.Op) + " "
	}
	return s
}

// breaker admits with a mark, and traps while 7 requests wait.
func breaker(mark int32) []byte { return guesttest.Breaker(mark, 7, guesttest.Unreachable) }

// configurable admits with a mark, and takes any settings.
func configurable(mark int32) []byte {
	return guesttest.Policy(guesttest.Hook(abi.ExportConfigure, guesttest.I32(0)), guesttest.Admit(mark))
}

var _ disk = (*store.Store)(nil)
