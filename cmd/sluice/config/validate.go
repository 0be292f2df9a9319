package config

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Validate reports the first value that cannot work, with where it was set.
func (c *Config) Validate() error {
	for _, check := range []func() error{c.checkAddresses, c.checkWords, c.checkSpeculate, c.checkNumbers, c.checkStatuses, c.checkClasses, c.checkPolicies, c.checkTrust} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// fail is an error about one key.
func (c *Config) fail(key, format string, args ...any) error {
	return fmt.Errorf("%s: %s %s", c.Origin(key), key, fmt.Sprintf(format, args...))
}

func (c *Config) checkAddresses() error {
	// The client commands take a URL in the same variable, so the listener accepts one too.
	c.Admin.Listen = strings.TrimSuffix(strings.TrimPrefix(c.Admin.Listen, "http://"), "/")
	for _, a := range []struct{ key, addr string }{{"listen", c.Listen}, {"admin.listen", c.Admin.Listen}} {
		if a.key == "admin.listen" && strings.HasPrefix(a.addr, "unix:") {
			if a.addr == "unix:" {
				return c.fail(a.key, "names no file; write unix:PATH")
			}
			continue
		}
		_, port, err := net.SplitHostPort(a.addr)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return c.fail(a.key, "must be HOST:PORT, like 127.0.0.1:8080, but is %q", a.addr)
		}
	}
	return nil
}

func (c *Config) checkWords() error {
	for _, w := range []struct {
		key, v string
		among  []string
	}{
		{"compute.kv", c.Compute.KV, []string{"unified", "split"}},
		{"compute.kv_type", c.Compute.KVType, []string{"auto", "q8_0", "f16"}},
		{"compute.flash_attention", c.Compute.FlashAttention, []string{"auto", "on", "off"}},
		{"compute.measure", c.Compute.Measure, []string{MeasureAuto, MeasureOff, MeasureFresh}},
		{"compute.prefix_cache", c.Compute.PrefixCache, []string{PrefixShared, PrefixTenant, PrefixOff}},
		{"speculate.drafter", c.Speculate.Drafter, []string{DrafterNgram, DrafterModel, DrafterEAGLE3, DrafterMTP, DrafterOff}},
		{"policy_runtime", c.PolicyRuntime, []string{RuntimeWazero, RuntimeWasmtime}},
		{"log.format", c.Log.Format, []string{"auto", "text", "json"}},
	} {
		if !slices.Contains(w.among, w.v) {
			return c.fail(w.key, "must be one of %s, but is %q", strings.Join(w.among, ", "), w.v)
		}
	}
	var level slog.Level
	if level.UnmarshalText([]byte(c.Log.Level)) != nil {
		return c.fail("log.level", "must be one of debug, info, warn, error, but is %q", c.Log.Level)
	}
	return nil
}

func (c *Config) checkSpeculate() error {
	s := c.Speculate
	reads := s.Drafter == DrafterModel || s.Drafter == DrafterEAGLE3
	switch {
	case reads && s.Model == "":
		return c.fail("speculate.drafter", "%s needs a GGUF file in speculate.model", s.Drafter)
	case !reads && s.Model != "":
		return c.fail("speculate.model", "is %s, but the drafter %s reads no file", s.Model, s.Drafter)
	case s.Drafter != DrafterNgram && s.Drafter != DrafterOff && strings.HasPrefix(c.Device, "sim:"):
		return c.fail("speculate.drafter", "is %s, but a simulated device has no model to draft for; use ngram or off", s.Drafter)
	}
	return nil
}

var digestRE = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (c *Config) checkTrust() error {
	if c.RequireSignature && len(c.PolicyKeys) == 0 {
		return c.fail("require_signature", "needs policy_keys: without a key no signature counts")
	}
	for _, name := range slices.Sorted(maps.Keys(c.PolicyPins)) {
		if !plugins.ValidName(name) {
			return c.fail("policy_pins", "has the name %q, which no policy can have", name)
		}
		for _, d := range c.PolicyPins[name] {
			if !digestRE.MatchString(d) {
				return c.fail("policy_pins."+name, "must hold digests of 64 hex digits, but holds %q", d)
			}
		}
	}
	return nil
}

func (c *Config) checkNumbers() error {
	l := &c.Limits
	for _, n := range []struct {
		key       string
		v, lo, hi int
	}{
		{"limits.max_seqs", l.MaxSeqs, 0, abi.MaxRows},
		{"limits.max_batch_tokens", l.MaxBatchTokens, 0, 1 << 20},
		{"limits.context_tokens", l.ContextTokens, 0, 1 << 24},
		{"limits.kv_tokens", l.KVTokens, 0, 1 << 28},
		{"limits.saved_tokens", l.SavedTokens, -1, 1 << 28},
		{"limits.chunk_tokens", l.ChunkTokens, 0, 1 << 20},
		{"limits.max_draft", l.MaxDraft, -1, abi.MaxDraft},
		{"limits.max_waiting", l.MaxWaiting, 0, 1 << 20},
		{"limits.max_waiting_tokens", l.MaxWaitingTokens, 0, 1 << 30},
		{"limits.max_waiting_bytes", l.MaxWaitingBytes, 0, 1 << 40},
		{"limits.memory_bytes", l.MemoryBytes, 0, 1 << 50},
		{"limits.body_bytes", l.BodyBytes, 1 << 10, 1 << 30},
		{"compute.threads", c.Compute.Threads, 0, 1024},
		{"compute.gpu_layers", c.Compute.GPULayers, 0, 1 << 20},
	} {
		if n.v < n.lo || n.v > n.hi {
			return c.fail(n.key, "must be between %d and %d, but is %d", n.lo, n.hi, n.v)
		}
	}
	if l.MemoryBytes > 0 && len(l.MemoryOrder) == 0 {
		return c.fail("limits.memory_order", "is empty, so that nothing would keep to limits.memory_bytes; name one or more of %s, or leave the key out for all of them in this order",
			strings.Join(MemoryReliefs, ", "))
	}
	for i, relief := range l.MemoryOrder {
		if !slices.Contains(MemoryReliefs, relief) || slices.Contains(l.MemoryOrder[:i], relief) {
			return c.fail(fmt.Sprintf("limits.memory_order[%d]", i), "must be another one of %s, but is %q", strings.Join(MemoryReliefs, ", "), relief)
		}
	}
	for _, d := range []struct {
		key string
		v   Duration
	}{{"limits.drain_timeout", l.DrainTimeout}, {"limits.drain_grace", l.DrainGrace}} {
		if d.v < 0 {
			return c.fail(d.key, "must not be negative, but is %s", d.v)
		}
	}
	if c.Streams.KeepAlive <= 0 {
		return c.fail("streams.keep_alive", "must be positive, but is %s", c.Streams.KeepAlive)
	}
	return nil
}

func (c *Config) checkStatuses() error {
	for _, s := range []struct {
		key string
		v   int
	}{
		{"statuses.queue_full", c.Statuses.QueueFull}, {"statuses.ttl", c.Statuses.TTL}, {"statuses.deadline", c.Statuses.Deadline},
		{"statuses.draining", c.Statuses.Draining}, {"statuses.capacity", c.Statuses.Capacity},
	} {
		if !sched.RefusalStatus(s.v) {
			return c.fail(s.key, "must be 429, 503, 504 or 529, but is %d", s.v)
		}
	}
	return nil
}

// wordRE is what a class may be called.
var wordRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (c *Config) checkClasses() error {
	if n := len(c.Classes); n < 1 || n > abi.Classes {
		return c.fail("classes", "must name 1 to %d classes, but names %d", abi.Classes, n)
	}
	seen := map[string]bool{}
	for i, class := range c.Classes {
		key := fmt.Sprintf("classes[%d]", i)
		switch {
		case !wordRE.MatchString(class.Name):
			return c.fail(key, "needs a name of letters, digits, _ . and -, but has %q", class.Name)
		case seen[class.Name]:
			return c.fail(key, "repeats the name %q", class.Name)
		case class.TTFT < 0 || class.TPOT < 0 || class.MaxGap < 0 || class.QueueTTL < 0:
			return c.fail(key, "has a negative objective")
		}
		seen[class.Name] = true
	}
	return nil
}

func (c *Config) checkPolicies() error {
	seen := map[string]bool{}
	for i := range c.Policies {
		p := &c.Policies[i]
		key := fmt.Sprintf("policies[%d]", i)
		if p.File == "" {
			return c.fail(key, "needs a file")
		}
		if p.Name == "" {
			p.Name = NameOf(p.File)
		}
		switch {
		case !plugins.ValidName(p.Name):
			return c.fail(key, "needs a name of letters, digits, _ . and -, but %q gives %q%s", p.File, p.Name, SettingsHint(p.File, ""))
		case seen[p.Name]:
			return c.fail(key, "repeats the name %q", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

// NameOf is the name that a policy has by its file: queue-age for lib/queue-age.wasm.
func NameOf(file string) string {
	return strings.TrimSuffix(filepath.Base(file), ".wasm")
}
