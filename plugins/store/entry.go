package store

import "time"

// Op is what was done, or tried.
type Op string

// The operations. The last five are the host's own doing.
const (
	OpConfigure Op = "configure" // the configuration's policies took the place of what was in force
	OpRecover   Op = "recover"   // at a start, what was in force could not be had as it was
	OpPush      Op = "push"
	OpShadow    Op = "shadow"
	OpPromote   Op = "promote"
	OpUnshadow  Op = "unshadow"
	OpRollback  Op = "rollback"
	OpRemove    Op = "remove"
	OpDisable   Op = "disable"
	OpEnable    Op = "enable"
	OpOrder     Op = "order"
	OpSafeOn    Op = "safe_on"
	OpSafeOff   Op = "safe_off"

	OpQuarantined Op = "quarantined"
	OpRestored    Op = "restored"
	OpProbing     Op = "probing"
	OpRecovered   Op = "recovered"
	OpDropped     Op = "dropped" // a shadow
)

// Entry is one line of the history. Fields may be added.
type Entry struct {
	Seq      uint64    `json:"seq"`      // one more than that of the entry before
	Revision uint64    `json:"revision"` // of the set after it: one more than before it, but for a refusal, which leaves it
	At       time.Time `json:"at"`
	Who      string    `json:"who"`
	Why      string    `json:"why,omitempty"`
	Op       Op        `json:"op"`

	Name     string            `json:"name,omitempty"`   // of the policy; "" where all are meant
	Digest   string            `json:"digest,omitempty"` // sha256 of the module that came, hex; "" where none did
	Config   map[string]string `json:"config,omitempty"`
	SignedBy string            `json:"signed_by,omitempty"` // the key's ID

	Left    *Left  `json:"left,omitempty"`    // the version in whose place it came, or that went
	Refused string `json:"refused,omitempty"` // why nothing was changed; "" = it was done
}

// Left is what a version had done when it left.
type Left struct {
	Digest    string            `json:"digest"`
	Calls     uint64            `json:"calls"`
	Fallbacks uint64            `json:"fallbacks"`        // calls in which the native default decided in its place
	Faults    map[string]uint64 `json:"faults,omitempty"` // the same by reason, those that happened
}
