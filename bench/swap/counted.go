package main

import (
	"context"
	"sync/atomic"

	"github.com/sluice-dev/sluice/plugins"
)

// counted is a runtime that knows how many modules and instances are open.
type counted struct {
	plugins.Runtime
	modules, instances atomic.Int64
}

func (c *counted) Compile(ctx context.Context, code []byte) (plugins.Module, error) {
	m, err := c.Runtime.Compile(ctx, code)
	if err != nil {
		return nil, err
	}
	c.modules.Add(1)
	return &countedModule{m, c}, nil
}

type countedModule struct {
	plugins.Module
	c *counted
}

func (m *countedModule) Instantiate(ctx context.Context, env plugins.Env) (plugins.Instance, error) {
	i, err := m.Module.Instantiate(ctx, env)
	if err != nil {
		return nil, err
	}
	m.c.instances.Add(1)
	return &countedInstance{i, m.c}, nil
}

func (m *countedModule) Close() error {
	m.c.modules.Add(-1)
	return m.Module.Close()
}

type countedInstance struct {
	plugins.Instance
	c *counted
}

func (i *countedInstance) Close() error {
	i.c.instances.Add(-1)
	return i.Instance.Close()
}
