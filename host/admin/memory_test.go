package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/registry"
	"github.com/sluice-dev/sluice/plugins/store"
)

// memory is a registry without a disk.
type memory struct {
	host *plugins.Host
	mu   sync.Mutex
	rev  uint64
	log  []registry.Entry
}

func (m *memory) do(op store.Op, name, digest string, by registry.By, do func() error) (registry.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if by.IfMatch != 0 && by.IfMatch != m.rev {
		return registry.Result{}, &registry.StaleError{Want: by.IfMatch, Have: m.rev}
	}
	if err := do(); err != nil {
		return registry.Result{}, err
	}
	m.rev++
	r := registry.Result{Revision: m.rev}
	r.Entry = registry.Entry{Seq: uint64(len(m.log)) + 1, Revision: m.rev, At: time.Now(), Who: by.Who, Why: by.Why, Op: op, Name: name, Digest: digest}
	m.log = append(m.log, r.Entry)
	for _, p := range m.host.List() {
		if p.Name == name {
			r.Policy = p
		}
	}
	return r, nil
}

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

func (m *memory) Snapshot() registry.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return registry.Snapshot{Revision: m.rev, SafeMode: m.host.Safe(), Policies: m.host.List()}
}

func (m *memory) History(limit int, before uint64) (out []registry.Entry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range slices.Backward(m.log) {
		if (before == 0 || e.Seq < before) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (m *memory) Check(ctx context.Context, r registry.Request) (plugins.Report, error) {
	c, err := m.host.Prepare(ctx, r.Name, r.Wasm, r.Config)
	if err != nil {
		return plugins.Report{}, err
	}
	defer c.Close()
	return c.Report(), nil
}

func (m *memory) Push(ctx context.Context, r registry.Request) (registry.Result, error) {
	if len(r.Wasm) == 0 {
		return registry.Result{}, store.ErrMissing
	}
	return m.do(store.OpPush, r.Name, digestOf(r.Wasm), r.By, func() error { return m.host.Push(ctx, r.Name, r.Wasm, r.Config) })
}

func (m *memory) Shadow(ctx context.Context, r registry.Request) (registry.Result, error) {
	return m.do(store.OpShadow, r.Name, digestOf(r.Wasm), r.By, func() error { return m.host.Shadow(ctx, r.Name, r.Wasm, r.Config) })
}

func (m *memory) Unshadow(ctx context.Context, n string, by registry.By) (registry.Result, error) {
	return m.do(store.OpUnshadow, n, "", by, func() error { return m.host.Unshadow(ctx, n) })
}

func (m *memory) Promote(ctx context.Context, n string, by registry.By) (registry.Result, error) {
	return m.do(store.OpPromote, n, "", by, func() error { return m.host.Promote(ctx, n) })
}

func (m *memory) Rollback(ctx context.Context, n string, by registry.By) (registry.Result, error) {
	return m.do(store.OpRollback, n, "", by, func() error { return m.host.Rollback(ctx, n) })
}

func (m *memory) Disable(ctx context.Context, n string, by registry.By) (registry.Result, error) {
	return m.do(store.OpDisable, n, "", by, func() error { return m.host.Disable(ctx, n) })
}

func (m *memory) Enable(ctx context.Context, n string, by registry.By) (registry.Result, error) {
	return m.do(store.OpEnable, n, "", by, func() error { return m.host.Enable(ctx, n) })
}

func (m *memory) Remove(ctx context.Context, n string, by registry.By) (registry.Result, error) {
	return m.do(store.OpRemove, n, "", by, func() error { return m.host.Remove(ctx, n) })
}

func (m *memory) SafeMode(ctx context.Context, on bool, by registry.By) (registry.Result, error) {
	op := store.OpSafeOff
	if on {
		op = store.OpSafeOn
	}
	return m.do(op, "", "", by, func() error { return m.host.SafeMode(ctx, on) })
}
