package sandbox

import (
	"context"
	"crypto/sha256"

	"github.com/sluice-dev/sluice/plugins"
)

// kept is a runtime that validates and compiles the same bytes once, however many policies are made of them.
type kept struct {
	plugins.Runtime
	valid    map[[sha256.Size]byte]bool
	compiled map[[sha256.Size]byte]plugins.Module
}

// Validate implements plugins.Runtime.
func (k *kept) Validate(ctx context.Context, wasm []byte) error {
	sum := sha256.Sum256(wasm)
	if k.valid[sum] {
		return nil
	}
	err := k.Runtime.Validate(ctx, wasm)
	k.valid[sum] = err == nil
	return err
}

// Compile implements plugins.Runtime.
func (k *kept) Compile(ctx context.Context, code []byte) (plugins.Module, error) {
	sum := sha256.Sum256(code)
	if m := k.compiled[sum]; m != nil {
		return m, nil
	}
	m, err := k.Runtime.Compile(ctx, code)
	if err == nil {
		k.compiled[sum] = m
	}
	return m, err
}

// watched is the runtime of one policy. It remembers the instance that was made last: the one that is asked.
type watched struct {
	plugins.Runtime
	last plugins.Instance
}

// Compile implements plugins.Runtime.
func (w *watched) Compile(ctx context.Context, code []byte) (plugins.Module, error) {
	m, err := w.Runtime.Compile(ctx, code)
	if err != nil {
		return nil, err
	}
	return &watchedModule{m, w}, nil
}

// watchedModule is a module that is the box's to close.
type watchedModule struct {
	plugins.Module
	w *watched
}

// Instantiate implements plugins.Module.
func (m *watchedModule) Instantiate(ctx context.Context, env plugins.Env) (plugins.Instance, error) {
	i, err := m.Module.Instantiate(ctx, env)
	if err != nil {
		return nil, err
	}
	m.w.last = i
	return i, nil
}

// Close implements plugins.Module.
func (m *watchedModule) Close() error { return nil }
