package admin

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/policies"
)

// module is a policy that ships.
func module(t *testing.T) string {
	t.Helper()
	for _, m := range policies.Shipped() {
		if m.Name == "queue-age" {
			return string(m.Wasm)
		}
	}
	t.Fatal("queue-age does not ship")
	return ""
}

func set(pairs ...string) string {
	return "?" + url.Values{"set": pairs}.Encode()
}

// The life of a policy over the API, on the real policy host.
func TestPolicyLifecycle(t *testing.T) {
	wasm := module(t)
	start0 := time.Now()
	a := start(t, Options{Wall: func(int64) time.Time { return start0 }})

	var first, second, p Policy
	a.json("PUT", "/v1/policies/queue-age"+set("max_age=5s", "status=429"), wasm, &first)
	if first.Name != "queue-age" || first.Version != 1 || first.State != "active" || len(first.Digest) != 64 ||
		first.Config["max_age"] != "5s" || first.Config["status"] != "429" || strings.Join(first.Hooks, " ") != "configure admit" {
		t.Errorf("first version: %+v", first)
	}
	if !first.Since.Equal(start0) || first.ActiveSince != 0 {
		t.Errorf("since %v, %d ns; want the time of day alone", first.Since, first.ActiveSince)
	}
	a.json("PUT", "/v1/policies/queue-age"+set("max_age=2s"), wasm, &second)
	if second.Version != 2 || second.Previous != first.Digest || second.Config["max_age"] != "2s" {
		t.Errorf("second version: %+v", second)
	}
	a.json("PUT", "/v1/policies/other", wasm, &p)
	var list PolicyList
	a.json("GET", "/v1/policies", "", &list)
	if len(list.Policies) != 2 || list.Policies[0].Name != "queue-age" || list.Policies[1].Name != "other" {
		t.Errorf("list: %+v", list)
	}
	var st Status
	a.json("GET", "/v1/status", "", &st)
	if len(st.Policies) != 2 || st.Policies[0].Digest != second.Digest {
		t.Errorf("status shows %+v", st.Policies)
	}
	a.json("POST", "/v1/policies/queue-age/rollback", "", &p)
	if p.Version != 1 || p.Config["max_age"] != "5s" {
		t.Errorf("after the rollback: %+v", p)
	}
	var gone Policy
	a.json("POST", "/v1/policies/other/rollback", "", &gone)
	if gone.Name != "other" || gone.State != StateRemoved {
		t.Errorf("rolled back to nothing: %+v", gone)
	}
	if code, _, body := a.do("DELETE", "/v1/policies/queue-age", "", nil); code != 204 || body != "" {
		t.Errorf("remove: %d %q", code, body)
	}
	a.json("GET", "/v1/policies", "", &list)
	if len(list.Policies) != 0 {
		t.Errorf("left: %+v", list)
	}
}

// A refusal is a 422 that says where and why, and what runs stays as it is.
func TestRefusedPolicyChangesNothing(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var before Policy
	a.json("PUT", "/v1/policies/p"+set("max_age=5s"), wasm, &before)
	for _, c := range []struct{ name, query, body, stage, says string }{
		{"not Wasm", "", "no module", "format", "WebAssembly"},
		{"cut off", "", wasm[:len(wasm)/2], "", "refused"},
		{"a module without the ABI", "", "\x00asm\x01\x00\x00\x00", "interface", "sluice_abi_v1"},
		{"wrong setting", set("max_age=soon"), wasm, "configuration", "max_age"},
		{"unknown setting", set("colour=red"), wasm, "configuration", "colour"},
	} {
		p := a.problem(422, "PUT", "/v1/policies/p"+c.query, c.body, nil)
		if (c.stage != "" && p.Stage != c.stage) || p.Stage == "" || len(p.Digest) != 64 || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	var list PolicyList
	a.json("GET", "/v1/policies", "", &list)
	if len(list.Policies) != 1 || list.Policies[0].Digest != before.Digest || list.Policies[0].Version != 1 || list.Policies[0].Config["max_age"] != "5s" {
		t.Errorf("refused modules changed the policies: %+v", list)
	}
}

// Pushes, rollbacks and reads from many clients at once.
func TestPolicyHammer(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for j := range 2 {
				age := []string{"1s", "2s", "3s"}[(i+j)%3]
				if code, _, body := a.do("PUT", "/v1/policies/p"+set("max_age="+age), wasm, nil); code != 200 {
					t.Errorf("push: %d %s", code, body)
				}
				if code, _, body := a.do("POST", "/v1/policies/p/rollback", "", nil); code != 200 && code != 404 {
					t.Errorf("rollback: %d %s", code, body)
				}
				if code, _, _ := a.do("GET", "/v1/policies", "", nil); code != 200 {
					t.Errorf("list: %d", code)
				}
			}
		})
	}
	wg.Wait()
}
