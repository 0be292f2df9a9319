package registry

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// disk is a store.Store or a store.Memory.
type disk interface {
	Put(wasm []byte) (digest string, err error)
	Get(digest string) ([]byte, error)
	Commit(m *store.Manifest, e Entry) (Entry, error)
	Manifest() (*store.Manifest, bool)
	Kept() []*store.Manifest
	Revision() uint64
	History(limit int, before uint64) ([]Entry, error)
	Warnings() []string
	FellBack() bool
	Close() error
}

// Registry changes the policies of a host and records it. Its methods may be called from any goroutine.
type Registry struct {
	opt  Options
	disk disk
	host atomic.Pointer[plugins.Host] // nil before Start

	revision atomic.Uint64 // with what could not be recorded yet

	changing chan struct{} // held by whoever changes something; guards what follows
	set      *store.Manifest
	safe     bool              // what a restart is to begin with; the host may be in safe mode for this run alone
	watched  map[string]string // what was taken from a watched folder, by policy name
	last     *store.Manifest   // what the host was last seen to have in force; nil before that
	unsaved  []Entry           // done, and not recorded yet

	mu         sync.Mutex        // guards what follows
	signatures map[string]string // of modules, by digest

	events  chan plugins.Event
	missed  atomic.Uint64 // events
	stop    chan struct{}
	closing sync.Once
	tasks   sync.WaitGroup
}

// Open opens or makes the store. store.ErrLocked and store.ErrNewer are for errors.Is. The registry changes nothing before
// Start.
func Open(opt Options) (*Registry, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Poll <= 0 {
		opt.Poll = time.Second
	}
	if opt.RequireSignature && len(opt.Keys) == 0 {
		return nil, errors.New("open policy registry: signatures are required, and there is no key to check them with")
	}
	for _, k := range opt.Keys {
		if len(k) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("open policy registry: a key has %d bytes, and an ed25519 key has %d", len(k), ed25519.PublicKeySize)
		}
	}
	r := &Registry{
		opt: opt, disk: store.NewMemory(), changing: make(chan struct{}, 1), set: &store.Manifest{}, watched: map[string]string{},
		signatures: map[string]string{}, events: make(chan plugins.Event, 256), stop: make(chan struct{}),
	}
	if opt.Dir != "" {
		s, err := store.Open(opt.Dir, store.Options{Log: opt.Log})
		if err != nil {
			return nil, err
		}
		r.disk = s
	}
	r.revision.Store(r.disk.Revision())
	r.tasks.Go(r.listen)
	return r, nil
}

// Close writes what has not been recorded yet and closes the store. Close it after the host, whose last events are then
// recorded, or before it, if the host is to go on.
func (r *Registry) Close() error {
	var err error
	r.closing.Do(func() {
		close(r.stop)
		r.tasks.Wait()
		r.changing <- struct{}{} // for good: whoever comes sees stop
		if len(r.unsaved) > 0 {
			_, err = r.flush(r.projected())
		}
		err = errors.Join(err, r.disk.Close())
	})
	return err
}

// hold takes the one place for a change, or gives up with ctx or the registry.
func (r *Registry) hold(ctx context.Context) error {
	select { // a closed registry refuses even when the place is free
	case <-r.stop:
		return ErrClosed
	default:
	}
	select {
	case r.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("change policies: %w", context.Cause(ctx))
	case <-r.stop:
		return ErrClosed
	}
}

func (r *Registry) release() { <-r.changing }

// started returns the host.
func (r *Registry) started() (*plugins.Host, error) {
	if h := r.host.Load(); h != nil {
		return h, nil
	}
	return nil, ErrNotStarted
}

// Snapshot is what is in force now. It waits for nothing.
func (r *Registry) Snapshot() Snapshot {
	s := Snapshot{Revision: r.revision.Load()} // first: the list may be newer, and a caller who goes by it is then told so
	if h := r.host.Load(); h != nil {
		s.SafeMode, s.Policies = h.Safe(), h.List()
	}
	return s
}

// History returns the newest entries whose Seq is below before, the newest first. before 0 = all, limit 0 = 100. Old entries
// are dropped in time.
func (r *Registry) History(limit int, before uint64) ([]Entry, error) {
	if limit <= 0 {
		limit = 100
	}
	return r.disk.History(limit, before)
}

func (r *Registry) now() time.Time { return r.opt.Now().UTC().Round(0) }
