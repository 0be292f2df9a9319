package sluice

import (
	"cmp"
	"errors"
	"slices"
)

// Config is a policy's configuration: values by key, all of them strings until a getter reads them.
//
// Every getter names a key and its default, and remembers both: what no getter named is an unknown key. A value that cannot
// be read gives the default and is remembered as an error, so a Configure method needs no error handling of its own.
type Config struct {
	entries []entry
	known   []string
	errs    []string
}

type entry struct {
	key, value string
	used       bool
}

// ParseConfig reads what the host writes: a JSON object whose values are strings.
func ParseConfig(json []byte) (*Config, error) {
	entries, err := parseFlat(json)
	if err != nil {
		return nil, err
	}
	return &Config{entries: entries}, nil
}

// Apply configures p and reports everything that is wrong with the configuration, on one line.
func (c *Config) Apply(p Configurer) error {
	if err := p.Configure(c); err != nil {
		c.errs = append(c.errs, err.Error())
	}
	return c.Err()
}

// Err is what the getters have found so far, and the keys that none of them has named.
func (c *Config) Err() error {
	text := ""
	add := func(s string) {
		if text != "" {
			text += "; "
		}
		text += s
	}
	for _, s := range c.errs {
		add(s)
	}
	for i := range c.entries {
		if e := &c.entries[i]; !e.used {
			add(c.unknown(e.key))
		}
	}
	if text == "" {
		return nil
	}
	return errors.New(text)
}

func (c *Config) unknown(key string) string {
	text := "unknown key " + quote(key)
	if len(c.known) == 0 {
		return text + ": the policy has no settings"
	}
	for i, k := range c.known {
		if i == 0 {
			text += ": known are "
		} else {
			text += ", "
		}
		text += k
	}
	return text
}

// lookup finds a key's value and marks it as known.
func (c *Config) lookup(key string) (value string, ok bool) {
	for i := range c.entries {
		if e := &c.entries[i]; e.key == key {
			e.used = true
			return e.value, true
		}
	}
	return "", false
}

// name puts a key into the list that an unknown one is answered with.
func (c *Config) name(key string) {
	for _, k := range c.known {
		if k == key {
			return
		}
	}
	c.known = append(c.known, key)
}

func (c *Config) bad(key, value, why string) {
	c.errs = append(c.errs, key+"="+quote(value)+": "+why)
}

func quote(s string) string {
	var l line
	l.quoted(s)
	return string(l.buf[:l.n])
}

// NewConfig is a configuration of settings, for tests.
func NewConfig(settings map[string]string) *Config {
	c := &Config{}
	for k, v := range settings {
		c.entries = append(c.entries, entry{key: k, value: v})
	}
	slices.SortFunc(c.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	return c
}
