package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/admin/audit"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/metrics"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/host/trace/store"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/registry"
	policystore "github.com/sluice-dev/sluice/plugins/store"
	"github.com/sluice-dev/sluice/policies"
)

// parts is what a running server is made of, each opened once, in the order of the fields.
type parts struct {
	cfg       *config.Config
	log       *slog.Logger
	started   time.Time
	device    gpu.Device
	tokenizer gpu.Tokenizer
	drafter   gpu.Drafter // nil = n-grams, or none
	costs     gpu.Costs   // of the device's steps; zero = not known
	policies  *plugins.Host
	registry  *registry.Registry // what changes them
	traces    *store.Store
	audit     *audit.Log // nil = none
	sched     sched.Config
	engine    *engine.Engine
	metrics   *metrics.Metrics
	closers   stack
}

// openParts opens everything but the listeners. After an error nothing stays open.
func openParts(ctx context.Context, cfg *config.Config, log *slog.Logger, env func(string) (string, bool)) (p *parts, err error) {
	p = &parts{cfg: cfg, log: log, started: time.Now()}
	for _, open := range []func() error{
		p.openDevice,
		func() error { return p.openCosts(ctx) },
		func() error { return p.openTraces(env) },
		p.openAudit,
		func() error { return p.openPolicies(ctx) },
		p.openEngine,
	} {
		if err = ctx.Err(); err == nil {
			err = open()
		}
		if err != nil {
			return nil, errors.Join(err, p.closers.close())
		}
	}
	return p, nil
}

func (p *parts) openPolicies(ctx context.Context) error {
	chain, err := p.readChain()
	if err != nil {
		return err
	}
	rt, err := newRuntime(p.cfg.PolicyRuntime, p.log)
	if err != nil {
		return err
	}
	p.closers.push(rt.Close)
	if dir := p.cfg.PolicyFolder; dir != "" {
		if _, err := os.ReadDir(dir); err != nil {
			return fmt.Errorf("policy_folder: %w", err)
		}
	}
	keys, err := readKeys(p.cfg.PolicyKeys)
	if err != nil {
		return err
	}
	p.registry, err = registry.Open(registry.Options{
		Dir: policyStore(p.cfg), Keys: keys, RequireSignature: p.cfg.RequireSignature, Pins: p.cfg.PolicyPins, Log: p.log,
	})
	if err != nil {
		if errors.Is(err, policystore.ErrLocked) {
			err = fmt.Errorf("%w (policy_store names the folder)", err)
		}
		return fmt.Errorf("open policy store: %w", err)
	}
	p.policies = plugins.New(rt, plugins.Options{Log: p.log, OnEvent: p.registry.OnEvent})
	p.closers.push(p.policies.Close)
	p.closers.push(p.registry.Close)
	started, err := p.registry.Start(ctx, p.policies, chain, p.cfg.SafeMode)
	if err != nil {
		return hinted(err, chain, classNames(p.cfg))
	}
	for _, w := range started.Warnings {
		p.log.Warn("policies", "warning", w)
	}
	p.log.Info("policies are in force", "from", started.Source, "why", started.Why, "revision", started.Revision, "safe_mode", started.SafeMode,
		"policies", namesAndStates(p.policies.List()))
	return nil
}

// namesAndStates is NAME@DIGEST for each policy, with its state where it does not decide.
func namesAndStates(list []plugins.PolicyInfo) []string {
	all := []string{}
	for _, i := range list {
		text := i.Name + "@" + i.Digest
		if i.State != plugins.StateActive {
			text += ": " + string(i.State)
		}
		all = append(all, text)
	}
	return all
}

// policyStore is where policies are kept; "" = nowhere.
func policyStore(cfg *config.Config) string {
	switch cfg.PolicyStore {
	case "off":
		return ""
	case "":
		return filepath.Join(cfg.Data, "policies")
	}
	return cfg.PolicyStore
}

// readKeys reads the public keys whose signatures count.
func readKeys(files []string) (keys []ed25519.PublicKey, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read public key: %w", err)
		}
		key, err := registry.ParsePublicKey(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// hinted adds to a refused configuration what may have been meant.
func hinted(err error, chain []plugins.Policy, classes []string) error {
	var refused *plugins.RefusedError
	if !errors.As(err, &refused) || refused.Stage != plugins.StageConfigure {
		return err
	}
	for _, policy := range chain {
		if policy.Name == refused.Name {
			return fmt.Errorf("%w%s", err, config.ClassHint(policy.Config, classes))
		}
	}
	return err
}

// readChain reads the policies that the configuration names, else those that ship.
func (p *parts) readChain() ([]plugins.Policy, error) {
	if !p.cfg.Shipped() {
		return readPolicies(p.cfg.Policies)
	}
	var chain []plugins.Policy
	for _, m := range policies.Shipped() {
		chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm, Config: shippedSettings(m.Name, p.cfg)})
	}
	return chain, nil
}

// capFactor is by how much the shipped policy's target for the batch cap lies above the smallest TPOT objective. The host fills steps
// with prompt tokens up to the objective, and where each step has some, even the shortest may take as long; a cap at the same figure would
// shrink the batch for it.
const capFactor = 3.0 / 2

// shippedSettings are those of a policy that ships, where they follow from the configuration.
func shippedSettings(name string, cfg *config.Config) map[string]string {
	if name != "tpot-cap" {
		return nil
	}
	objectives, tpot := sched.DefaultConfig(1, 1, 1, 1), int64(0)
	setObjectives(&objectives, cfg)
	for _, slo := range objectives.SLO {
		if slo.TPOTNS > 0 && (tpot == 0 || slo.TPOTNS < tpot) {
			tpot = slo.TPOTNS
		}
	}
	target := min(max(time.Duration(float64(tpot)*capFactor), time.Millisecond/10), time.Minute) // what the policy takes
	return map[string]string{"tpot": target.String()}
}

// openTraces opens the store of records. Its folder has one user at a time, so a second server needs one of its own.
func (p *parts) openTraces(env func(string) (string, bool)) error {
	dir := p.cfg.Data
	if dir == "" {
		dir = defaultData(env)
	}
	if dir == "" {
		return fmt.Errorf("open trace store: there is no home folder for it; name one with --data DIR")
	}
	s, err := store.Open(dir, store.Options{Log: p.log})
	if err != nil {
		return fmt.Errorf("open trace store: %w", err)
	}
	p.cfg.Data = dir
	p.traces = s
	p.closers.push(s.Close)
	return nil
}

// openAudit opens the file of what was changed, beside the records unless it is named.
func (p *parts) openAudit() (err error) {
	path := p.cfg.Admin.Audit
	switch path {
	case "off":
		return nil
	case "":
		path = filepath.Join(p.cfg.Data, "audit.jsonl")
	}
	if p.audit, err = audit.Open(path, audit.Options{}); err != nil {
		return fmt.Errorf("%w (admin.audit names another file, or off)", err)
	}
	p.closers.push(p.audit.Close)
	return nil
}

// defaultData is where records go when nothing else is said: the user's data folder. "" when there is no home.
func defaultData(env func(string) (string, bool)) string {
	if dir, ok := env("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "sluice", "traces")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "sluice", "traces")
	}
	return ""
}

func (p *parts) openEngine() error {
	names := classNames(p.cfg)
	p.sched = schedConfig(p.cfg, p.device.Info())
	p.sched.Costs = p.costs
	p.metrics = metrics.New(metrics.Options{Model: p.device.Info().Model, Classes: names, Source: p.sample, Runtime: true})
	e, err := engine.New(engine.Config{
		Device: p.device, Tokenizer: p.tokenizer, Drafter: p.drafter, Sched: p.sched, Classes: names, Log: p.log,
		Policies: namedPolicies{p.policies},
		Record: func(r trace.Record) {
			p.metrics.ObserveRecord(&r)
			p.traces.Put(&r)
		},
		NoPrefixCache:  p.cfg.Compute.PrefixCache == config.PrefixOff,
		IsolateTenants: p.cfg.Compute.PrefixCache == config.PrefixTenant,
		Memory:         memoryLimit(&p.cfg.Limits),
	})
	if err != nil {
		return err
	}
	p.engine = e
	p.closers.push(e.Close)
	return nil
}

// reliefs are the engine's by their names in a configuration.
var reliefs = map[string]engine.Relief{
	config.ReliefCache: engine.ReliefCache, config.ReliefSaved: engine.ReliefSaved,
	config.ReliefBatch: engine.ReliefBatch, config.ReliefRefuse: engine.ReliefRefuse,
}

func memoryLimit(l *config.Limits) engine.Memory {
	m := engine.Memory{Limit: int64(l.MemoryBytes), Order: []engine.Relief{}}
	for _, name := range l.MemoryOrder {
		m.Order = append(m.Order, reliefs[name])
	}
	return m
}

func classNames(cfg *config.Config) []string {
	names := make([]string, len(cfg.Classes))
	for i, c := range cfg.Classes {
		names[i] = c.Name
	}
	return names
}

// schedConfig is the device's limits, narrowed by the configuration.
func schedConfig(cfg *config.Config, info gpu.Info) sched.Config {
	l := cfg.Limits
	narrow := func(device, wanted int) int {
		if wanted > 0 {
			return min(device, wanted)
		}
		return device
	}
	c := sched.DefaultConfig(narrow(info.MaxSeqs, l.MaxSeqs), narrow(info.MaxBatchTokens, l.MaxBatchTokens),
		narrow(info.ContextTokens, l.ContextTokens), narrow(info.KVTokens, l.KVTokens))
	for _, x := range []struct {
		at     *int
		wanted int
	}{{&c.ChunkTokens, l.ChunkTokens}, {&c.MaxWaiting, l.MaxWaiting}, {&c.MaxWaitingTokens, l.MaxWaitingTokens}} {
		if x.wanted > 0 {
			*x.at = x.wanted
		}
	}
	if l.MaxWaitingBytes > 0 {
		c.MaxWaitingBytes = int64(l.MaxWaitingBytes)
	}
	c.Statuses = sched.Statuses(cfg.Statuses)
	switch c.MaxDraft = l.MaxDraft; l.MaxDraft {
	case 0:
		c.MaxDraft = abi.MaxDraft
	case -1:
		c.MaxDraft = 0
	}
	c.SpareSeqs, c.CopyMin, c.SharedKV = info.SpareSeqs, info.CopyMin, info.SharedKV
	if info.CanSave {
		c.MaxSaved = savedTokens(l.SavedTokens, c.Blocks*c.BlockSize)
	}
	if cfg.Speculate.Drafter == config.DrafterOff {
		c.MaxDraft = 0
	}
	c.Seed = rand.Uint64() // every start draws differently; a replay has a seed of its own
	setObjectives(&c, cfg)
	for i := range c.AgeAfter {
		c.AgeAfter[i] = sched.DefaultAge(c.SLO[i].TTFTNS)
		if l.AgeAfter != 0 {
			c.AgeAfter[i] = max(0, int64(l.AgeAfter))
		}
	}
	return c
}

// setObjectives puts those that the classes name in the place of the defaults.
func setObjectives(c *sched.Config, cfg *config.Config) {
	for i, class := range cfg.Classes {
		for _, x := range []struct {
			at     *int64
			wanted config.Duration
		}{{&c.SLO[i].TTFTNS, class.TTFT}, {&c.SLO[i].TPOTNS, class.TPOT}, {&c.SLO[i].MaxGapNS, class.MaxGap}} {
			if x.wanted > 0 {
				*x.at = int64(x.wanted)
			}
		}
	}
}

// savedTokens is what may be kept of a KV cache outside it: as much again, unless something else is wanted.
func savedTokens(wanted, kv int) int {
	if wanted == 0 {
		return kv
	}
	return max(0, wanted)
}

// namedPolicies is the policy host as the engine asks for it.
type namedPolicies struct{ *plugins.Host }

// Who implements engine.PolicySource.
func (n namedPolicies) Who(id abi.PolicyID) trace.Decider { return decider(n.Host, id) }
