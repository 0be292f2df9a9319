package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/host/admin"
)

func load(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load(write(t, text), noEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every key of the file is shown, each with its place, elements of lists one by one.
func TestSettingsNameEveryKey(t *testing.T) {
	c := load(t, whole)
	shown := map[string]admin.Setting{}
	for _, s := range c.Settings() {
		shown[s.Key] = s
	}
	for key, want := range map[string][2]string{
		"model": {"m.gguf", ":2"}, "admin.listen": {"[::1]:9", ":7"}, "policies[0].set.max_age": {"2s", ":10"}, "classes[0].ttft": {"500ms", ":13"},
		"classes[1].name": {"batch", ":14"}, "limits.max_draft": {"-1", ":17"}, "limits.max_waiting": {"0", "default"}, "safe_mode": {"false", "default"},
	} {
		if s := shown[key]; s.Value != want[0] || !strings.HasSuffix(s.Origin, want[1]) {
			t.Errorf("%s: %+v, want %v", key, s, want)
		}
	}
	for _, key := range knownKeys() {
		at := slices.IndexFunc(c.Settings(), func(s admin.Setting) bool {
			return s.Key == key || strings.HasPrefix(s.Key, key+".") || strings.HasPrefix(s.Key, key+"[") || strings.Contains(s.Key, "]."+key[strings.LastIndexByte(key, '.')+1:])
		})
		if at < 0 && !slices.Contains([]string{"policy_keys", "policy_pins"}, key) { // empty lists
			t.Errorf("%s is not shown", key)
		}
	}
}

func keys(changes []admin.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Key)
	}
	return strings.Join(all, " ")
}

// What can change while a server runs is taken over, and the rest is named.
func TestAdoptTakesWhatCanChange(t *testing.T) {
	was := load(t, "classes: [{name: a}, {name: b}]\nlimits: {max_waiting: 5}")
	next := load(t, "listen: 127.0.0.1:1\nclasses: [{name: a, ttft: 1s, queue_ttl: 5s}, {name: b}]\n"+
		"limits: {max_waiting: 6, max_seqs: 3, drain_timeout: 1s, drain_grace: 2s}\nstreams: {early_headers: 1s}\nlog: {level: debug, format: json}")
	got := was.Adopt(next)
	if live, want := keys(was.Changes(got)), "classes[0].ttft classes[0].queue_ttl limits.max_waiting limits.drain_timeout limits.drain_grace streams.early_headers log.level"; live != want {
		t.Errorf("changed %q\nwant    %q", live, want)
	}
	if rest, want := keys(got.Changes(next)), "listen limits.max_seqs log.format"; rest != want {
		t.Errorf("left %q, want %q", rest, want)
	}
	if c := was.Changes(got)[2]; c.From != "5" || c.To != "6" {
		t.Errorf("%+v", c)
	}
	if len(next.Changes(next)) != 0 {
		t.Error("it differs from itself")
	}
	// Other classes are other places in every array: none of theirs changes.
	other := load(t, "classes: [{name: b, ttft: 1s}, {name: a}]")
	if live := keys(was.Changes(was.Adopt(other))); strings.Contains(live, "classes") {
		t.Errorf("changed %q", live)
	}
	gone := load(t, "policies: [{file: x.wasm}]")
	if c := gone.Changes(load(t, "policies: []")); len(c) == 0 || c[0].To != "" {
		t.Errorf("%+v", c)
	}
}
