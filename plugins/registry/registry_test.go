package registry

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/store"
)

// The life of a policy, in memory and on disk.
func TestEveryChangeIsOneEntry(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, Options{Dir: dir})
			first := r.push("p", 1)
			if first.Revision != 2 || first.Entry.Who != "ada" || first.Entry.Why != "a test" || first.Policy.State != plugins.StateActive {
				t.Fatalf("first push: %+v", first)
			}
			r.mark()
			second := r.push("p", 2)
			if l := second.Entry.Left; l == nil || l.Digest != first.Policy.Digest || l.Calls != 1 || l.Fallbacks != 0 {
				t.Errorf("what left: %+v", second.Entry.Left)
			}
			steps := []struct {
				do    func() (Result, error)
				mark  uint32
				names string
			}{
				{func() (Result, error) { return r.Disable(background, "p", ada) }, 0, "p:disabled "},
				{func() (Result, error) { return r.Enable(background, "p", ada) }, 2, "p:active "},
				{func() (Result, error) { return r.SafeMode(background, true, ada) }, 0, "p:suspended "},
				{func() (Result, error) { return r.SafeMode(background, false, ada) }, 2, "p:active "},
				{func() (Result, error) { return r.Rollback(background, "p", ada) }, 1, "p:active "},
				{func() (Result, error) {
					return r.Shadow(background, Request{Name: "p", Wasm: guesttest.Admitter(3), By: ada})
				}, 1, "p:active "},
				{func() (Result, error) { return r.Unshadow(background, "p", ada) }, 1, "p:active "},
				{func() (Result, error) {
					return r.Shadow(background, Request{Name: "p", Wasm: guesttest.Admitter(3), By: ada})
				}, 1, "p:active "},
				{func() (Result, error) { return r.Promote(background, "p", ada) }, 3, "p:active "},
				{func() (Result, error) {
					return r.Push(background, Request{Name: "q", Digest: first.Policy.Digest, By: ada})
				}, 1, "p:active q:active "},
				{func() (Result, error) { return r.Order(background, []string{"q", "p"}, ada) }, 1, "q:active p:active "},
				{func() (Result, error) { return r.Remove(background, "q", ada) }, 3, "p:active "},
			}
			for i, s := range steps {
				res, err := s.do()
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if res.Unchanged || res.Revision != uint64(4+i) || res.Entry.Revision != res.Revision {
					t.Errorf("step %d: %+v", i, res)
				}
				if got := r.mark(); got != s.mark || r.names() != s.names {
					t.Errorf("step %d: %d decides, want %d; %s", i, got, s.mark, r.names())
				}
			}
			want := "ada:remove ada:order ada:push ada:promote ada:shadow ada:unshadow ada:shadow ada:rollback " +
				"ada:safe_off ada:safe_on ada:enable ada:disable ada:push ada:push configuration:configure "
			if got := who(r.entries()); got != want {
				t.Errorf("history:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestWhatIsSoAlreadyIsNoChange(t *testing.T) {
	r := begin(t, Options{})
	want := r.push("p", 1).Revision
	for _, do := range []func() (Result, error){
		func() (Result, error) { return r.Push(background, Request{Name: "p", Wasm: guesttest.Admitter(1)}) },
		func() (Result, error) { return r.Enable(background, "p", ada) },
		func() (Result, error) { return r.SafeMode(background, false, ada) },
		func() (Result, error) { return r.Order(background, []string{"p"}, ada) },
	} {
		if res, err := do(); err != nil || !res.Unchanged || res.Revision != want || res.Entry.Op != "" {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if n := len(r.entries()); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// A rollback with nothing to go back to leaves the native default.
func TestARollbackToNothing(t *testing.T) {
	r := begin(t, Options{Dir: t.TempDir()})
	r.push("p", 1)
	res, err := r.Rollback(background, "p", ada)
	if err != nil || res.Policy.State != "" || res.Policy.Name != "p" || r.mark() != 0 || len(r.Snapshot().Policies) != 0 {
		t.Errorf("%+v, %v, %d decides", res, err, r.mark())
	}
	if res.Entry.Digest != "" || res.Entry.Left == nil {
		t.Errorf("entry %+v", res.Entry)
	}
	if _, err := r.Rollback(background, "p", ada); !errors.Is(err, plugins.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestACheckChangesNothing(t *testing.T) {
	r := begin(t, Options{Dir: t.TempDir()})
	r.push("p", 1)
	rep, err := r.Check(background, Request{Name: "p", Wasm: guesttest.Admitter(2)})
	if err != nil || rep.Digest != store.Digest(guesttest.Admitter(2)) || len(rep.Tests) == 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	var refused *plugins.RefusedError
	if _, err := r.Check(background, Request{Name: "p", Wasm: []byte("junk")}); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	if r.mark() != 1 || len(r.entries()) != 2 {
		t.Errorf("%d decides, %s", r.mark(), who(r.entries()))
	}
}

func TestRefusalsAreRecorded(t *testing.T) {
	r := begin(t, Options{Dir: t.TempDir()})
	rev := r.push("p", 1).Revision
	_, err := r.Push(background, Request{Name: "p", Wasm: []byte("junk"), Config: map[string]string{"k": "v"}, By: ada})
	var refused *plugins.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	e := r.entries()[0]
	if e.Refused != err.Error() || e.Revision != rev || e.Digest != store.Digest([]byte("junk")) || e.Who != "ada" || e.Config["k"] != "v" || e.Op != store.OpPush {
		t.Errorf("%+v", e)
	}
	if r.mark() != 1 {
		t.Error("a refusal changed what decides")
	}
}

func TestWrongRequests(t *testing.T) {
	r := begin(t, Options{})
	r.push("p", 1)
	for name, c := range map[string]struct {
		req  Request
		want error
		says string
	}{
		"nothing":        {Request{Name: "p"}, ErrRequest, "neither a module nor the digest"},
		"other digest":   {Request{Name: "p", Wasm: guesttest.Admitter(2), Digest: store.Digest(nil)}, ErrRequest, "was announced"},
		"unknown digest": {Request{Name: "p", Digest: store.Digest(nil)}, store.ErrMissing, store.Digest(nil)},
		"a path":         {Request{Name: "p", Digest: "../../etc/passwd"}, store.ErrMissing, "passwd"},
		"long who":       {Request{Name: "p", Wasm: guesttest.Admitter(2), By: By{Who: strings.Repeat("x", MaxWho+1)}}, ErrRequest, "129 bytes"},
		"long why":       {Request{Name: "p", Wasm: guesttest.Admitter(2), By: By{Why: strings.Repeat("x", MaxWhy+1)}}, ErrRequest, "1025 bytes"},
		"stale":          {Request{Name: "p", Wasm: guesttest.Admitter(2), By: By{IfMatch: 1}}, ErrStale, "revision 1 was asked for, 2 is in force"},
	} {
		if _, err := r.Push(background, c.req); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Order(background, []string{"q"}, ada); !errors.Is(err, ErrRequest) {
		t.Errorf("order: %v", err)
	}
	if _, err := r.Promote(background, "p", ada); !errors.Is(err, plugins.ErrNoShadow) {
		t.Errorf("promote: %v", err)
	}
	if len(r.entries()) != 2 {
		t.Errorf("history: %s", who(r.entries()))
	}
}

func TestBeforeTheStartAndAfterTheEnd(t *testing.T) {
	r, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Remove(background, "p", ada); !errors.Is(err, ErrNotStarted) {
		t.Errorf("got %v", err)
	}
	if s := r.Snapshot(); s.Revision != 0 || len(s.Policies) != 0 {
		t.Errorf("%+v", s)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	s := begin(t, Options{})
	s.Registry.Close()
	if _, err := s.Remove(background, "p", ada); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Start(background, s.h, nil, false); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAnAuditHearsEveryEntry(t *testing.T) {
	var heard []Entry
	r := begin(t, Options{OnAudit: func(e Entry) { heard = append(heard, e) }})
	r.push("p", 1)
	r.Push(background, Request{Name: "p", Wasm: []byte("junk"), By: ada})
	r.Remove(background, "p", ada)
	if len(heard) != 4 || heard[2].Refused == "" || heard[3].Op != store.OpRemove || heard[3].Revision != 3 {
		t.Errorf("%+v", heard)
	}
}
