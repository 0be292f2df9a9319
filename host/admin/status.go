package admin

import (
	"time"

	"github.com/gofiber/fiber/v2"
)

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
	Path        string            `json:"path,omitempty"`
	Stored      uint64            `json:"stored"`
	Waiting     int               `json:"waiting"`
	Dropped     map[string]uint64 `json:"dropped"`     // by reason
	Quarantined uint64            `json:"quarantined"` // damaged days that were set aside
	DiskFull    bool              `json:"disk_full"`
}

func (s *Server) status(c *fiber.Ctx) error {
	st, err := s.o.Status(c.UserContext())
	if err != nil {
		return err
	}
	st.Policies = s.showAll(s.o.Policies.Snapshot().Policies)
	return c.JSON(st)
}
