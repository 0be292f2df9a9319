package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/plugins"
)

// banner tells a person what serves, where, and what to try.
func (p *parts) banner(t terminal, serving, admin string) {
	info := p.device.Info()
	fmt.Fprintf(t.err, "\nSluice %s\n", buildInfo().Version)
	model := info.Model
	if info.ModelPath != "" {
		model += " (" + info.ModelPath + ")"
	}
	drafter := p.cfg.Speculate.Drafter
	if file := p.cfg.Speculate.Model; file != "" {
		drafter += " (" + file + ")"
	}
	_ = printPairs(t.err, [][2]string{ // a terminal that is gone shows nothing
		{"  api", serving + "/v1"},
		{"  admin", admin},
		{"  model", model},
		{"  device", info.Device + ": " + info.DeviceName},
		{"  limits", fmt.Sprintf("%d requests at a time, %d tokens of context, %d KV tokens", p.sched.MaxSeqs, p.sched.ContextTokens, p.sched.Blocks*p.sched.BlockSize)},
		{"  drafter", drafter},
		{"  policies", p.policyLine()},
		{"  traces", p.cfg.Data},
	})
	for _, w := range info.Warnings {
		fmt.Fprintf(t.err, "  warning: %s\n", w)
	}
	fmt.Fprintf(t.err, "\nTry it:\n\n  %s\n\n", curl(serving, info.Model))
}

// policyLine lists the policies with what they decide, and their state when they do not.
func (p *parts) policyLine() string {
	var all []string
	for _, i := range p.policies.List() {
		line := fmt.Sprintf("%s@%s (%s)", i.Name, short(i.Digest), strings.Join(deciding(i.Hooks), ", "))
		if i.State != plugins.StateActive {
			line += ": " + string(i.State)
		}
		all = append(all, line)
	}
	if len(all) == 0 {
		return "none: the host's own defaults decide"
	}
	return strings.Join(all, "\n\t")
}

// deciding leaves out the hooks that decide nothing.
func deciding(hooks []string) []string {
	var out []string
	for _, h := range hooks {
		if h != "configure" && h != "state" && h != "events" {
			out = append(out, h)
		}
	}
	return out
}

// curl is a command line that a POSIX shell takes as it stands.
func curl(serving, model string) string {
	body, _ := json.Marshal(map[string]any{ // strings and a list of them: it cannot fail
		"model": model, "stream": true, "messages": []map[string]string{{"role": "user", "content": "Why is the sky blue?"}},
	})
	quoted := "'" + strings.ReplaceAll(string(body), "'", `'\''`) + "'"
	return "curl -N " + serving + "/v1/chat/completions -H 'content-type: application/json' -d " + quoted
}
