package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/host/admin"
)

// Settings lists all values in the order of the file, lists and maps element by element. Each can be shown: secrets are never in
// a configuration, only the names of their files.
func (c *Config) Settings() []admin.Setting {
	var all []admin.Setting
	flatten("", reflect.ValueOf(c).Elem(), func(key, value string) {
		all = append(all, admin.Setting{Key: key, Value: value, Origin: c.origin(key)})
	})
	return all
}

// origin is that of a value; what a flag for a whole policy says is that policy's.
func (c *Config) origin(key string) string {
	policy, _, inside := strings.Cut(key, "].")
	if o, ok := c.origins[policy+"]"]; inside && ok && strings.HasPrefix(o, "--") {
		return o
	}
	return c.Origin(key)
}

// flatten calls each for every scalar below v.
func flatten(key string, v reflect.Value, each func(key, value string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" {
				flatten(join(key, tag), v.Field(i), each)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			flatten(fmt.Sprintf("%s[%d]", key, i), v.Index(i), each)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			flatten(join(key, k.String()), v.MapIndex(k), each)
		}
	default:
		each(key, fmt.Sprint(v.Interface()))
	}
}

func join(section, key string) string {
	if section == "" {
		return key
	}
	return section + "." + key
}

// Changes lists what is different in next, by key: first in c's order, then what only next has.
func (c *Config) Changes(next *Config) []admin.Change {
	changes := []admin.Change{}
	was := map[string]bool{}
	values := map[string]string{}
	for _, s := range next.Settings() {
		values[s.Key] = s.Value
	}
	for _, s := range c.Settings() {
		was[s.Key] = true
		if to := values[s.Key]; to != s.Value {
			changes = append(changes, admin.Change{Key: s.Key, From: s.Value, To: to})
		}
	}
	for _, s := range next.Settings() {
		if !was[s.Key] {
			changes = append(changes, admin.Change{Key: s.Key, To: s.Value})
		}
	}
	return changes
}

// Adopt is c with what a running server can take over from next: objectives and queue TTLs of classes that are the same by name,
// the queue's limits, the prompt tokens of a step, the times around streams and the drain, the statuses of refusals, and the log's level. c itself stays as
// it is.
func (c *Config) Adopt(next *Config) *Config {
	m := *c
	l, n := &m.Limits, &next.Limits
	l.ChunkTokens, l.MaxWaiting, l.MaxWaitingTokens, l.MaxWaitingBytes = n.ChunkTokens, n.MaxWaiting, n.MaxWaitingTokens, n.MaxWaitingBytes
	l.AgeAfter, l.DrainTimeout, l.DrainGrace = n.AgeAfter, n.DrainTimeout, n.DrainGrace
	m.Streams, m.Statuses, m.Log.Level = next.Streams, next.Statuses, next.Log.Level
	if slices.EqualFunc(c.Classes, next.Classes, func(a, b Class) bool { return a.Name == b.Name }) {
		m.Classes = next.Classes
	}
	return &m
}
