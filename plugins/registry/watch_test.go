package registry

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/store"
)

// folder is a watched folder.
type folder struct {
	t   testing.TB
	dir string
}

// write puts a file there. Its time is always another, as it is where files are not written many times in one tick.
func (f *folder) write(name string, content []byte) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	when := time.Unix(1_796_212_800, 0)
	if info, err := os.Stat(path); err == nil {
		when = info.ModTime().Add(time.Second)
	}
	tmp := path + ".new"
	err := os.WriteFile(tmp, content, 0o600)
	err = errors.Join(err, os.Chtimes(tmp, when, when), os.Rename(tmp, path))
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) remove(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// watching starts to watch a new folder, or dir.
func (r *rig) watching(dir string) *folder {
	r.t.Helper()
	ctx, cancel := context.WithCancel(background)
	done := make(chan error)
	go func() { done <- r.Watch(ctx, dir) }()
	stop := r.stop
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
		done = closedErrors()
		stop()
	}
	r.t.Cleanup(func() { r.stop() })
	return &folder{r.t, dir}
}

func closedErrors() chan error {
	c := make(chan error)
	close(c)
	return c
}

func (r *rig) has(names string) func() bool {
	return func() bool { return r.names() == names }
}

func TestAFolderIsFollowed(t *testing.T) {
	r := begin(t, Options{Dir: t.TempDir()}, policy("configured", 0))
	f := r.watching(t.TempDir())
	f.write("p.wasm", guesttest.Admitter(1))
	r.eventually("p", r.has("configured:active p:active "))
	if e := r.entries()[0]; e.Who != "watch" || e.Why != "file p.wasm" || e.Op != store.OpPush {
		t.Errorf("%+v", e)
	}
	f.write("p.wasm", configurable(2))
	r.eventually("its next version", func() bool { return r.Snapshot().Policies[1].Digest == store.Digest(configurable(2)) })
	f.write("README", []byte("no policy"))
	f.write("p.json", []byte(`{"config": {"k": "v"}}`))
	r.eventually("its settings", func() bool { return r.Snapshot().Policies[1].Config["k"] == "v" })
	f.remove("p.json", "p.wasm")
	r.eventually("its end", r.has("configured:active "))
	if got, want := who(r.entries()), "watch:remove watch:push watch:push watch:push configuration:configure "; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
}

// The folder's policies stand in the order of their numbers, then names, wherever they are in the chain.
func TestAFolderHasAnOrder(t *testing.T) {
	r := begin(t, Options{})
	dir := t.TempDir()
	f := &folder{t, dir}
	for name, order := range map[string]string{"a": "30", "b": "10", "c": "20"} {
		f.write(name+".wasm", guesttest.Admitter(1))
		f.write(name+".json", []byte(`{"order": `+order+`}`))
	}
	r.watching(dir)
	r.eventually("three", r.has("b:active c:active a:active "))
	r.push("api", 5)
	f.write("d.wasm", guesttest.Admitter(1))
	r.eventually("a fourth, whose number is 0", r.has("d:active b:active c:active api:active a:active "))
	f.write("c.json", []byte(`{"order": 5}`))
	r.eventually("another number", r.has("d:active c:active b:active api:active a:active "))
}

// A file that is no good is refused once, and what runs is not touched.
func TestABadFileIsRefusedOnce(t *testing.T) {
	r := begin(t, Options{Dir: t.TempDir()})
	f := r.watching(t.TempDir())
	f.write("p.wasm", guesttest.Admitter(1))
	r.eventually("p", r.has("p:active "))
	f.write("p.wasm", []byte("junk"))
	r.eventually("a refusal", func() bool { return strings.Contains(r.log.String(), "refused at format") })
	f.write("q.wasm", guesttest.Admitter(3)) // so that it has looked again, and once more
	r.eventually("another", r.has("p:active q:active "))
	f.write("q.json", []byte(`{"conf": {}}`))
	r.eventually("another refusal", func() bool { return strings.Contains(r.log.String(), "q.json") })
	f.write("s.wasm", guesttest.Admitter(3))
	r.eventually("one more", r.has("p:active q:active s:active "))
	if n := strings.Count(r.log.String(), "was refused"); n != 2 || r.Snapshot().Policies[0].Digest != store.Digest(guesttest.Admitter(1)) {
		t.Errorf("%d refusals:\n%s", n, r.log)
	}
	f.write("p.wasm", guesttest.Admitter(2))
	r.eventually("a good one", func() bool { return r.Snapshot().Policies[0].Digest == store.Digest(guesttest.Admitter(2)) })
}

// What is no file, or far too large, is not waited for, keeps nothing else from being seen, and is complained of once.
func TestWhatIsNoFileHoldsNobodyUp(t *testing.T) {
	r := begin(t, Options{Dir: t.TempDir()})
	f := r.watching(t.TempDir())
	path := func(name string) string { return filepath.Join(f.dir, name) }
	for _, name := range []string{"pipe.wasm", "piped.json"} {
		if err := syscall.Mkfifo(path(name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	err := errors.Join(os.Mkdir(path("folder.wasm"), 0o700), os.Symlink("/dev/zero", path("zero.wasm")), os.Symlink("nowhere", path("dead.wasm")),
		os.WriteFile(path("huge.wasm"), nil, 0o600), os.Truncate(path("huge.wasm"), 1<<36))
	if err != nil {
		t.Fatal(err)
	}
	f.write("piped.wasm", guesttest.Admitter(1))
	f.write("p.wasm", guesttest.Admitter(2))
	r.eventually("the good one", r.has("p:active "))
	r.eventually("complaints", func() bool { return strings.Count(r.log.String(), "cannot be read") == 2 })
	f.write("q.wasm", guesttest.Admitter(3)) // so that it has looked again, and once more
	r.eventually("another", r.has("p:active q:active "))
	f.remove("piped.json", "huge.wasm")
	f.write("huge.wasm", guesttest.Admitter(4))
	r.eventually("those that are files now", func() bool { return len(r.Snapshot().Policies) == 4 })
	if n := strings.Count(r.log.String(), "cannot be read"); n != 2 {
		t.Errorf("%d complaints:\n%s", n, r.log)
	}
}

// What was done to a policy by others stays, over a restart too, until its file changes.
func TestAFolderDoesNotInsist(t *testing.T) {
	dir, watched := t.TempDir(), t.TempDir()
	r := begin(t, Options{Dir: dir})
	f := r.watching(watched)
	f.write("p.wasm", guesttest.Admitter(1))
	r.eventually("p", r.has("p:active "))
	f.write("p.wasm", guesttest.Admitter(2))
	r.eventually("its next version", func() bool { return r.Snapshot().Policies[0].Digest == store.Digest(guesttest.Admitter(2)) })
	if _, err := r.Rollback(background, "p", ada); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = begin(t, Options{Dir: dir})
	r.watching(watched)
	f.write("q.wasm", guesttest.Admitter(3))
	r.eventually("another", r.has("p:active q:active "))
	if got := r.Snapshot().Policies[0].Digest; got != store.Digest(guesttest.Admitter(1)) {
		t.Error("a restart undid a rollback")
	}
	r.stop()
	f.remove("p.wasm") // while nobody looks
	r = begin(t, Options{Dir: dir})
	r.watching(watched)
	r.eventually("the end of p", r.has("q:active "))
}

// A push by somebody else that cannot be recorded leaves the name the folder's.
func TestAPushOverAFileThatIsUndone(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	f := r.watching(t.TempDir())
	f.write("p.wasm", guesttest.Admitter(1))
	r.eventually("p", r.has("p:active "))
	withoutDisk(t, dir, func() {
		if _, err := r.Push(background, Request{Name: "p", Wasm: guesttest.Admitter(2), By: ada}); err == nil || errors.Is(err, ErrUnrecorded) {
			t.Errorf("got %v", err)
		}
	})
	f.remove("p.wasm")
	r.eventually("its end", r.has(""))
}

func TestAFolderWithSignatures(t *testing.T) {
	pub, key := keys(t)
	r := begin(t, Options{Keys: []ed25519.PublicKey{pub}, RequireSignature: true})
	f := r.watching(t.TempDir())
	f.write("p.wasm", guesttest.Admitter(1))
	r.eventually("a refusal", func() bool { return strings.Contains(r.log.String(), "require_signature") })
	f.write("p.wasm.sig", Sign(key, guesttest.Admitter(1)))
	r.eventually("p", r.has("p:active "))
}

func TestAFolderThatIsNotThere(t *testing.T) {
	r := begin(t, Options{})
	dir := filepath.Join(t.TempDir(), "none")
	if err := r.Watch(background, dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	// One that goes later is waited for, and its policies stay.
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := r.watching(dir)
	f.write("p.wasm", guesttest.Admitter(1))
	r.eventually("p", r.has("p:active "))
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	r.eventually("a complaint", func() bool { return strings.Contains(r.log.String(), "cannot be read") })
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	f.write("q.wasm", guesttest.Admitter(1))
	r.eventually("q", r.has("p:active q:active "))
}

func FuzzDecodeSettings(f *testing.F) {
	f.Add([]byte(`{"config": {"max_age": "2s"}, "order": 10}`))
	f.Add([]byte(`{"order": 1e999}`))
	f.Add([]byte(`{} {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := decodeSettings(text); err != nil && !errors.Is(err, ErrRequest) {
			t.Fatalf("an error of no kind: %v", err)
		}
	})
}
