package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Manifest is the set in force. Fields may be added.
type Manifest struct {
	Revision uint64   `json:"revision"` // that the set was committed under
	SafeMode bool     `json:"safe_mode"`
	Policies []Policy `json:"policies"` // in the order of the chain

	// Shadows are the candidates beside policies, by name. They are kept for a promotion, and a start forgets them.
	Shadows map[string]Version `json:"shadows,omitempty"`

	Configured string            `json:"configured,omitempty"` // what the configuration named then: an opaque hash
	Watched    map[string]string `json:"watched,omitempty"`    // what a watched folder held, by policy name: opaque hashes

	Change Entry `json:"change"` // that made it
}

// Policy is one place in the chain.
type Policy struct {
	Name string `json:"name"`
	Version
	Previous    *Version `json:"previous,omitempty"` // that a rollback puts into force; nil for none
	Disabled    bool     `json:"disabled,omitempty"`
	Quarantined bool     `json:"quarantined,omitempty"` // it failed too often: the native default decides in its place
}

// Version is a module with a configuration.
type Version struct {
	Digest    string            `json:"digest"` // sha256 of the module, 64 hex digits
	Config    map[string]string `json:"config,omitempty"`
	Signature string            `json:"signature,omitempty"` // as it came
}

// Same reports whether both versions decide alike: whose signature they have does not matter.
func (v Version) Same(o Version) bool {
	if v.Digest != o.Digest || len(v.Config) != len(o.Config) {
		return false
	}
	for k, x := range v.Config {
		if y, ok := o.Config[k]; !ok || x != y {
			return false
		}
	}
	return true
}

// manifestFormat is the version of the file. A reader of this version refuses greater ones.
const manifestFormat = 1

// maxManifest bounds what is read of a file, in bytes.
const maxManifest = 16 << 20

// envelope is the file: the digest tells a manifest from a damaged one.
type envelope struct {
	Format   int             `json:"format"`
	SHA256   string          `json:"sha256"` // of the bytes of manifest
	Manifest json.RawMessage `json:"manifest"`
}

func encodeManifest(m *Manifest) ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	b, err := json.Marshal(envelope{manifestFormat, digestOf(body), body})
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return append(b, '\n'), nil
}

// decodeManifest reads a file. Its error is ErrNewer or ErrDamaged.
func decodeManifest(b []byte) (*Manifest, error) {
	var e envelope
	if err := decodeJSON(b, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if e.Format > manifestFormat {
		return nil, fmt.Errorf("%w: it has format %d, and this program reads %d", ErrNewer, e.Format, manifestFormat)
	}
	if e.Format != manifestFormat || digestOf(e.Manifest) != e.SHA256 {
		return nil, fmt.Errorf("%w: it does not have the sha256 that it states", ErrDamaged)
	}
	m := new(Manifest)
	if err := decodeJSON(e.Manifest, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return m, nil
}

// decodeJSON reads one value and nothing after it.
func decodeJSON(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more follows after its end")
	}
	return nil
}

// check reports the first thing that no manifest has.
func (m *Manifest) check() error {
	if m.Revision == 0 || m.Change.Revision != m.Revision || m.Change.Seq == 0 {
		return errors.New("it has no revision, or another one than its change")
	}
	seen := map[string]bool{}
	for _, p := range m.Policies {
		switch {
		case p.Name == "" || seen[p.Name]:
			return fmt.Errorf("policy name %q is empty or stands twice", p.Name)
		case !isDigest(p.Digest) || p.Previous != nil && !isDigest(p.Previous.Digest):
			return fmt.Errorf("policy %s has no sha256", p.Name)
		}
		seen[p.Name] = true
	}
	for name, v := range m.Shadows {
		if !isDigest(v.Digest) {
			return fmt.Errorf("shadow %s has no sha256", name)
		}
	}
	return nil
}

// digests calls yield with every module that the manifest names.
func (m *Manifest) digests(yield func(string)) {
	for _, p := range m.Policies {
		yield(p.Digest)
		if p.Previous != nil {
			yield(p.Previous.Digest)
		}
	}
	for _, v := range m.Shadows {
		yield(v.Digest)
	}
}

// named are the digests of the modules that sets and entries need.
func named(sets []*Manifest, entries []Entry) map[string]bool {
	all := map[string]bool{}
	keep := func(digest string) { all[digest] = true }
	for _, m := range sets {
		m.digests(keep)
	}
	for _, e := range entries {
		keep(e.Digest)
		if e.Left != nil {
			keep(e.Left.Digest)
		}
	}
	return all
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// isDigest reports whether text is 64 lower-case hex digits: anything else must not become part of a path.
func isDigest(text string) bool {
	ok := len(text) == 2*sha256.Size
	for _, c := range text {
		ok = ok && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	}
	return ok
}
