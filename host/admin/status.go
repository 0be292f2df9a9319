package admin

import "time"

// Status is the answer of GET /v1/status. Unknown fields may appear.
type Status struct {
	Version  string    `json:"version"`
	State    string    `json:"state"` // "running", "draining" or "paused"
	Started  time.Time `json:"started"`
	Serving  string    `json:"serving"` // URL of the OpenAI API
	Model    Model     `json:"model"`
	Device   Device    `json:"device"`
	Requests Requests  `json:"requests"`
	KV       KV        `json:"kv"`
	Epoch    uint32    `json:"policy_epoch"` // rises by one at each swap
	Policies []Policy  `json:"policies"`
	Traces   Stored    `json:"traces"`
}

// Model is what is served.
type Model struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Context int    `json:"context_tokens"`
}

// Device is what computes.
type Device struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Warnings []string `json:"warnings,omitempty"`
}

// Requests counts since start, but for Waiting and Running.
type Requests struct {
	Waiting  int               `json:"waiting"`
	Running  int               `json:"running"`
	Arrived  uint64            `json:"arrived"`
	Outcomes map[string]uint64 `json:"outcomes"`
	Steps    uint64            `json:"steps"`
	Drafted  uint64            `json:"drafted"`
	Accepted uint64            `json:"accepted"`
}

// KV is the KV cache in blocks.
type KV struct {
	Total int `json:"blocks_total"`
	Free  int `json:"blocks_free"`
}

// Stored is what the trace store did since start.
type Stored struct {
	Path    string `json:"path,omitempty"`
	Written uint64 `json:"written"`
	Dropped uint64 `json:"dropped"`
	Error   string `json:"error,omitempty"`
}
