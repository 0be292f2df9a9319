package main

import (
	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/spf13/cobra"
)

// serveFlags are the flags that replace a list rather than a value.
type serveFlags struct {
	config     string
	policies   []string
	noPolicies bool
}

// valueFlags are the flags that stand for a key of the configuration.
var valueFlags = []struct{ flag, key, usage string }{
	{"model", "model", "GGUF file (default the one that set-up installed)"},
	{"llama-lib", "llama_lib", "folder of the llama.cpp libraries (default the one that set-up installed)"},
	{"device", "device", "what computes: auto, cpu, a device that the libraries offer, by name or kind (CUDA0, cuda), or sim:..., which is simulated (default auto)"},
	{"threads", "compute.threads", "CPU threads of a step (default one for each core)"},
	{"kv", "compute.kv", "layout of the KV cache: unified, or split, which is slower, and exact in any company (default unified)"},
	{"kv-type", "compute.kv_type", "type of the KV cache: auto, q8_0, f16 (default auto: q8_0 with --kv split on the CPU, f16 elsewhere)"},
	{"gpu-layers", "compute.gpu_layers", "layers on the GPU; the CPU computes the rest (default all)"},
	{"flash-attention", "compute.flash_attention", "auto, on, off; a q8_0 KV cache needs it (default auto)"},
	{"measure", "compute.measure", "measure step times at the start: auto, when they are not known yet; off; fresh, each time (default auto)"},
	{"drafter", "speculate.drafter", "where drafts come from: ngram, draft-model, eagle3, mtp or off (default ngram)"},
	{"draft-model", "speculate.model", "GGUF file of the draft model or EAGLE-3 head"},
	{"listen", "listen", "address of the OpenAI API; port 0 takes a free one (default 127.0.0.1:8080)"},
	{"admin", "admin.listen", "address of the admin API, HOST:PORT or unix:PATH; not loopback needs SLUICE_ADMIN_TOKEN (default 127.0.0.1:9090)"},
	{"data", "data", "folder of the recorded requests, the policies' history and the audit log (default the user's data folder)"},
	{policyRuntimeFlag, "policy_runtime", policyRuntimeUsage},
	{safeModeFlag, "safe_mode", "start with the host's own defaults deciding in the place of all policies, until sluice policy safe-mode off"},
}

const safeModeFlag = "safe-mode"

func newServe(t terminal) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a model over the OpenAI API, under policies",
		Long: `Serve opens the model, loads the policies, and answers the OpenAI API on one listener and the admin API
on another. Once it serves it prints two lines on standard output,

  serving http://HOST:PORT
  admin http://HOST:PORT (or unix:PATH)

and everything else on standard error. The first Ctrl-C stops taking requests, after limits.drain_grace, and
finishes what runs; a second one ends at once. SIGHUP reads the configuration again.

A flag wins over its environment variable (SLUICE_MODEL, SLUICE_LLAMA_LIB, SLUICE_DEVICE, SLUICE_LISTEN,
SLUICE_ADMIN, SLUICE_DATA), the variable over the configuration file, the file over the default. Without
--policy and without policies in the file, the policies that ship with Sluice are loaded.`,
		Example: `  sluice serve
  sluice serve --model m.gguf --listen 127.0.0.1:0 --policy queue-age.wasm:max_age=2s --policy order.wasm`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(t, func() (*config.Config, error) { return f.load(cmd, t) })
		},
	}
	p := cmd.Flags()
	p.StringVar(&f.config, "config", "", "configuration file, YAML (default $SLUICE_CONFIG)")
	for _, v := range valueFlags {
		p.String(v.flag, "", v.usage)
	}
	p.Lookup(safeModeFlag).NoOptDefVal = "true"
	p.StringArrayVar(&f.policies, "policy", nil, "policy to load, FILE or FILE:key=value,...; may be repeated, in the order in which they are asked")
	p.BoolVar(&f.noPolicies, "no-policies", false, "load no policies: the host's own defaults decide")
	return cmd
}

// load merges file, environment and flags.
func (f *serveFlags) load(cmd *cobra.Command, t terminal) (*config.Config, error) {
	if f.noPolicies && len(f.policies) > 0 {
		return nil, usageErrorf("--policy and --no-policies exclude each other")
	}
	flags := map[string]string{}
	for _, v := range valueFlags {
		if cmd.Flags().Changed(v.flag) {
			flags[v.key], _ = cmd.Flags().GetString(v.flag) // it was defined as a string
		}
	}
	path := f.config
	if path == "" {
		path = t.getenv("SLUICE_CONFIG")
	}
	cfg, err := config.Load(path, t.env, flags)
	if err != nil {
		return nil, err
	}
	if !f.noPolicies && len(f.policies) == 0 {
		return cfg, nil
	}
	policies, err := parsePolicies(f.policies)
	if err != nil {
		return nil, err
	}
	cfg.SetPolicies(policies)
	return cfg, cfg.Validate()
}

func parsePolicies(texts []string) ([]config.Policy, error) {
	var policies []config.Policy
	for _, text := range texts {
		p, err := config.ParsePolicy(text)
		if err != nil {
			return nil, err
		}
		policies = append(policies, p)
	}
	return policies, nil
}
