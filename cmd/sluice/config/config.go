// Package config is what `sluice serve` can be told: the file, the environment and the flags, in one struct.
//
// It is not the configuration of a policy (that is the policy's own, handed through as text) and opens nothing: paths and
// addresses are checked for their form, not for what is behind them.
//
// A value on the command line wins over the environment, the environment over the file, the file over the default. Every
// key of the file has an environment variable: SLUICE_ and the key in upper case, sections joined by "_" (limits.max_seqs
// is SLUICE_LIMITS_MAX_SEQS). SLUICE_ADMIN stands for admin.listen. Lists have none, and policy_pins has none.
//
//	cfg, err := config.Load("sluice.yaml", os.LookupEnv, map[string]string{"listen": "127.0.0.1:0"})
//	if err != nil {
//		return err // says which file, line and key
//	}
package config

import (
	"fmt"
	"slices"
	"time"
)

// Config is everything that serve can be told. A zero value in Limits and Device means what the model and the machine
// allow.
type Config struct {
	Model    string   `yaml:"model"`     // GGUF file; "" = the one that set-up installed
	LlamaLib string   `yaml:"llama_lib"` // folder of the llama.cpp libraries; "" = the one that set-up installed
	Device   string   `yaml:"device"`    // "" or "auto", "cpu", or a device that the libraries offer
	Listen   string   `yaml:"listen"`    // host:port of the OpenAI API
	Admin    Admin    `yaml:"admin"`
	Data     string   `yaml:"data"` // folder of the stored traces
	Policies []Policy `yaml:"policies"`
	SafeMode bool     `yaml:"safe_mode"` // start with the host's own defaults deciding in the place of all policies

	PolicyRuntime    string              `yaml:"policy_runtime"`    // RuntimeWazero or RuntimeWasmtime
	PolicyStore      string              `yaml:"policy_store"`      // folder of the policies' modules and history; "" = policies in the data folder, "off" = in memory
	PolicyFolder     string              `yaml:"policy_folder"`     // whose modules are pushed as they come and change; "" = none
	PolicyKeys       []string            `yaml:"policy_keys"`       // files of the public keys whose signatures count; none = signatures are not looked at
	RequireSignature bool                `yaml:"require_signature"` // of every module that does not come from Policies
	PolicyPins       map[string][]string `yaml:"policy_pins"`       // by a policy's name, the only digests that are taken under it

	Classes   []Class   `yaml:"classes"` // the first is the default class
	Limits    Limits    `yaml:"limits"`
	Statuses  Statuses  `yaml:"statuses"`
	Streams   Streams   `yaml:"streams"`
	Compute   Compute   `yaml:"compute"`
	Speculate Speculate `yaml:"speculate"`
	Log       Log       `yaml:"log"`

	shipped bool // policies was not set: the shipped ones apply
	origins map[string]string
}

// What can run policies.
const (
	RuntimeWazero   = "wazero"
	RuntimeWasmtime = "wasmtime" // in binaries that were built with it
)

// Admin is the second listener.
type Admin struct {
	Listen    string `yaml:"listen"`     // host:port, or unix:path
	TokenFile string `yaml:"token_file"` // the token's file; SLUICE_ADMIN_TOKEN holds the token itself
	Audit     string `yaml:"audit"`      // file of what was changed; "" = audit.jsonl in the data folder, "off" = none
}

// Policy is one policy to load at start, in the order of the chain.
type Policy struct {
	Name string            `yaml:"name"` // "" = the file's name without .wasm
	File string            `yaml:"file"`
	Set  map[string]string `yaml:"set"`
}

// Class is one class of requests with its objectives. 0 means the default objective.
type Class struct {
	Name   string   `yaml:"name"`
	TTFT   Duration `yaml:"ttft"`
	TPOT   Duration `yaml:"tpot"`
	MaxGap Duration `yaml:"max_gap"`

	QueueTTL Duration `yaml:"queue_ttl"` // how long a request may wait; a client can only ask for less. 0 = for ever
}

// Streams is when streams show that they live.
type Streams struct {
	EarlyHeaders Duration `yaml:"early_headers"` // how long a status is held back for a first token; 0 = for ever
	KeepAlive    Duration `yaml:"keep_alive"`    // between two blank lines once it is out
}

// Limits are the host's hard limits: no policy goes beyond them. 0 = derived from the device.
type Limits struct {
	MaxSeqs          int      `yaml:"max_seqs"`           // requests in the batch
	MaxBatchTokens   int      `yaml:"max_batch_tokens"`   // tokens in a step
	ContextTokens    int      `yaml:"context_tokens"`     // of one request, prompt and output
	KVTokens         int      `yaml:"kv_tokens"`          // of all requests together
	SavedTokens      int      `yaml:"saved_tokens"`       // kept in the host's memory, of preempted requests and prefixes; 0 = as many as the KV cache has, -1 = none
	ChunkTokens      int      `yaml:"chunk_tokens"`       // most prompt tokens in a step in which something decodes; the classes' tpot sets how many there are
	MaxDraft         int      `yaml:"max_draft"`          // draft tokens a row; -1 = no drafter
	MaxWaiting       int      `yaml:"max_waiting"`        // requests in the queue
	MaxWaitingTokens int      `yaml:"max_waiting_tokens"` // their prompt tokens
	MaxWaitingBytes  int      `yaml:"max_waiting_bytes"`  // their sizes as they came
	MemoryBytes      int      `yaml:"memory_bytes"`       // of the process in RAM, from which on something is given up; 0 = no limit
	MemoryOrder      []string `yaml:"memory_order"`       // what is given up, one after the other, of MemoryReliefs
	AgeAfter         Duration `yaml:"age_after"`          // wait after which a request may go ahead of the policies' order; 0 = 20 times its class's ttft, negative = never
	BodyBytes        int      `yaml:"body_bytes"`         // of one request
	DrainTimeout     Duration `yaml:"drain_timeout"`      // how long running requests may go on after Ctrl-C
	DrainGrace       Duration `yaml:"drain_grace"`        // how long /readyz fails before new requests are refused
}

// Statuses are the HTTP statuses of the host's own refusals, 429, 503, 504 or 529. What a policy refuses has the policy's.
type Statuses struct {
	QueueFull int `yaml:"queue_full"` // a limit of the queue
	TTL       int `yaml:"ttl"`        // the time in the queue is over
	Deadline  int `yaml:"deadline"`   // the time for the answer is over
	Draining  int `yaml:"draining"`   // the server shuts down
	Capacity  int `yaml:"capacity"`   // preempted too often, memory ran short, or a policy that names no status
}

// Compute is how the device works.
type Compute struct {
	Threads        int    `yaml:"threads"`         // 0 = one for each core
	KV             string `yaml:"kv"`              // "unified" or "split"
	KVType         string `yaml:"kv_type"`         // "auto", "q8_0" or "f16"
	GPULayers      int    `yaml:"gpu_layers"`      // 0 = all
	FlashAttention string `yaml:"flash_attention"` // "auto", "on" or "off"
	Measure        string `yaml:"measure"`         // MeasureAuto, MeasureOff or MeasureFresh
	PrefixCache    string `yaml:"prefix_cache"`    // PrefixShared, PrefixTenant or PrefixOff
}

// Who goes on from whose KV where their texts begin alike.
const (
	PrefixShared = "shared" // everybody from everybody's
	PrefixTenant = "tenant" // from that of the same tenant: how fast an answer comes tells nothing about others' prompts
	PrefixOff    = "off"    // nobody
)

// What may be given up when memory runs short, by default in this order.
const (
	ReliefCache  = "cache"  // prefixes that nothing runs on
	ReliefSaved  = "saved"  // KV in the host's memory
	ReliefBatch  = "batch"  // half of the places
	ReliefRefuse = "refuse" // new requests
)

// MemoryReliefs are the words that Limits.MemoryOrder may hold.
var MemoryReliefs = []string{ReliefCache, ReliefSaved, ReliefBatch, ReliefRefuse}

// When the device's step times are measured at the start.
const (
	MeasureAuto  = "auto"  // when they are not known from an earlier start
	MeasureOff   = "off"   // never
	MeasureFresh = "fresh" // each time
)

// Speculate is where drafts come from. How many are made is the policies' decision.
type Speculate struct {
	Drafter string `yaml:"drafter"` // one of Drafters
	Model   string `yaml:"model"`   // GGUF file of the draft model or of the EAGLE-3 head; "" for the others
}

// What can guess how a text goes on.
const (
	DrafterNgram  = "ngram"       // the text itself: what followed the same tokens before
	DrafterModel  = "draft-model" // a smaller model with the same vocabulary
	DrafterEAGLE3 = "eagle3"      // a head on the model's hidden states
	DrafterMTP    = "mtp"         // the model's own block for further tokens
	DrafterOff    = "off"
)

// Log is what goes to standard error.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // auto, text, json
}

// Default is the configuration without a file, environment or flags.
func Default() Config {
	return Config{
		Device:        "auto",
		PolicyRuntime: RuntimeWazero,
		Listen:        "127.0.0.1:8080",
		Admin:         Admin{Listen: "127.0.0.1:9090"},
		Classes:       []Class{{Name: "interactive"}, {Name: "batch"}},
		Limits:        Limits{MemoryOrder: slices.Clone(MemoryReliefs), BodyBytes: 4 << 20, DrainTimeout: Duration(30 * time.Second)},
		Statuses:      Statuses{QueueFull: 503, TTL: 503, Deadline: 503, Draining: 503, Capacity: 503},
		Streams:       Streams{EarlyHeaders: Duration(15 * time.Second), KeepAlive: Duration(7 * time.Second)},
		Compute:       Compute{KV: "unified", KVType: "auto", FlashAttention: "auto", Measure: MeasureAuto, PrefixCache: PrefixShared},
		Speculate:     Speculate{Drafter: DrafterNgram},
		Log:           Log{Level: "info", Format: "auto"},
		shipped:       true,
	}
}

// Shipped tells whether the policies that ship with the binary are to be loaded, because none were named.
func (c *Config) Shipped() bool { return c.shipped }

// SetPolicies replaces the policies, for the command line. An empty list means none at all.
func (c *Config) SetPolicies(p []Policy) {
	c.Policies, c.shipped = p, false
	for i := range p {
		c.origins[fmt.Sprintf("policies[%d]", i)] = "--policy"
	}
}

// Origin says where the value of a key comes from: "default", "FILE:LINE", "$NAME" or "--flag".
func (c *Config) Origin(key string) string {
	if o, ok := c.origins[key]; ok {
		return o
	}
	return "default"
}
