package admin

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/registry"
)

// ifAt sends If-Match.
func ifAt(revision uint64) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("If-Match", strconv.Quote(strconv.FormatUint(revision, 10))) }
}

// A change that was meant for another state of affairs changes nothing, and says which there is.
func TestIfMatch(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var list PolicyList
	code, header, body := a.do("GET", "/v1/policies", "", nil)
	if json.Unmarshal([]byte(body), &list) != nil || code != 200 || header.Get("ETag") != strconv.Quote(strconv.FormatUint(list.Revision, 10)) {
		t.Fatalf("%d, ETag %s, %s", code, header.Get("ETag"), body)
	}
	code, header, body = a.do("PUT", "/v1/policies/p", wasm, ifAt(list.Revision))
	var c Changed
	if json.Unmarshal([]byte(body), &c) != nil || code != 200 || c.Revision <= list.Revision || header.Get("ETag") != strconv.Quote(strconv.FormatUint(c.Revision, 10)) {
		t.Fatalf("push at %d: %d %s %s", list.Revision, code, header.Get("ETag"), body)
	}
	for _, x := range []struct{ method, path, body string }{
		{"PUT", "/v1/policies/p" + set("max_age=2s"), wasm}, {"DELETE", "/v1/policies/p", ""}, {"POST", "/v1/policies/p/rollback", ""},
		{"POST", "/v1/policies/p/disable", ""}, {"PUT", "/v1/policies/p/shadow", wasm}, {"PUT", "/v1/safe-mode", `{"on":true}`},
	} {
		p := a.problem(412, x.method, x.path, x.body, ifAt(list.Revision))
		if p.Code != CodeStale || p.Revision != c.Revision || p.IfMatch != list.Revision {
			t.Errorf("%s %s: %+v", x.method, x.path, p)
		}
	}
	var now Changed
	a.json("GET", "/v1/policies/p", "", &now)
	if now.Revision != c.Revision || now.State != plugins.StateActive || now.Shadow != nil {
		t.Errorf("changed all the same: %+v", now)
	}
	for _, text := range []string{"12", `W/"12"`, `"x"`, `""`, `"0"`, `"1", "2"`, `"-1"`, `"99999999999999999999"`} {
		a.problem(400, "DELETE", "/v1/policies/p", "", func(r *http.Request) { r.Header.Set("If-Match", text) })
	}
	if code, header, _ := a.do("DELETE", "/v1/policies/p", "", func(r *http.Request) { r.Header.Set("If-Match", "*") }); code != 204 || header.Get("ETag") == "" {
		t.Errorf("remove at any revision: %d, ETag %q", code, header.Get("ETag"))
	}
}

// A dry run does everything but the push, and says what it found; for a module that is refused too.
func TestDryRun(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var r plugins.Report
	a.json("PUT", "/v1/policies/p?dry_run=1&set=max_age=2s", wasm, &r)
	if len(r.Digest) != 64 || len(r.Tests) == 0 || r.StartFuel <= 0 || r.StartFuel > r.LoadLimit || strings.Join(r.Hooks, " ") != "configure admit" {
		t.Errorf("%+v", r)
	}
	if p := a.problem(422, "PUT", "/v1/policies/p?dry_run=true&set=max_age=soon", wasm, nil); p.Report == nil || p.Report.Digest != r.Digest || p.Stage != "configuration" {
		t.Errorf("%+v", p)
	}
	a.problem(400, "PUT", "/v1/policies/p?dry_run=maybe", wasm, nil)
	var list PolicyList
	if a.json("GET", "/v1/policies", "", &list); len(list.Policies) != 0 {
		t.Errorf("a dry run pushed %+v", list.Policies)
	}
}

// A shadow is attached, compared, and put into force or taken away.
func TestShadowOverTheAPI(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var c Changed
	a.json("PUT", "/v1/policies/p"+set("max_age=5s"), wasm, &c)
	a.problem(404, "GET", "/v1/policies/p/shadow", "", nil)
	a.problem(404, "POST", "/v1/policies/p/promote", "", nil)
	a.problem(404, "DELETE", "/v1/policies/p/shadow", "", nil)
	a.problem(422, "PUT", "/v1/policies/p/shadow", "junk", nil)
	a.json("PUT", "/v1/policies/p/shadow"+set("max_age=2s"), wasm, &c)
	if c.Shadow == nil || c.Shadow.Config["max_age"] != "2s" || c.Config["max_age"] != "5s" || c.State != plugins.StateActive {
		t.Fatalf("after the shadow: %+v", c)
	}
	var s Shadow
	a.json("GET", "/v1/policies/p/shadow", "", &s)
	if s.Digest != c.Shadow.Digest || len(s.Hooks) != 1 || s.Hooks[0].Hook != "admit" || s.Dropped != "" {
		t.Errorf("compared: %+v", s)
	}
	a.json("POST", "/v1/policies/p/promote", "", &c)
	if c.Config["max_age"] != "2s" || c.Version != 2 {
		t.Errorf("promoted: %+v", c)
	}
	a.json("PUT", "/v1/policies/q/shadow", wasm, &c)
	if c.State != plugins.StateShadow {
		t.Errorf("a shadow of nothing: %+v", c)
	}
	var gone Changed
	if a.json("DELETE", "/v1/policies/q/shadow", "", &gone); gone.State != StateRemoved || gone.Name != "q" {
		t.Errorf("unshadowed: %+v", gone)
	}
}

func TestDisableAndSafeMode(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var c Changed
	a.json("PUT", "/v1/policies/p", wasm, &c)
	for _, x := range []struct {
		action string
		want   plugins.State
	}{{"disable", plugins.StateDisabled}, {"enable", plugins.StateActive}} {
		if a.json("POST", "/v1/policies/p/"+x.action, "", &c); c.State != x.want {
			t.Errorf("%s: %s", x.action, c.State)
		}
		a.problem(404, "POST", "/v1/policies/none/"+x.action, "", nil)
	}
	for _, on := range []bool{true, false} {
		var s SafeMode
		a.json("PUT", "/v1/safe-mode", `{"on":`+strconv.FormatBool(on)+`,"why":"alarm"}`, &s)
		var list PolicyList
		a.json("GET", "/v1/policies", "", &list)
		if s.On != on || list.SafeMode != on || s.Revision != list.Revision || (list.Policies[0].State == plugins.StateSuspended) != on {
			t.Errorf("on %v: %+v, %+v", on, s, list)
		}
	}
	for _, body := range []string{"", "{}", `{"why":"x"}`, `{"on":1}`, `{"on":true,"on":false}`, `{"on":true,"off":1}`, "[" + strings.Repeat("[", 1000),
		`{"on":true,"why":"` + strings.Repeat("x", 2000) + `"}`} {
		json := func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }
		a.problem(400, "PUT", "/v1/safe-mode", body, json)
	}
	a.problem(415, "PUT", "/v1/safe-mode", `on=true`, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") })
	if p := a.problem(413, "PUT", "/v1/safe-mode", `{"on":true}`+strings.Repeat(" ", jsonLimit), nil); !strings.Contains(p.Detail, strconv.Itoa(jsonLimit)) {
		t.Errorf("the limit is not named: %q", p.Detail)
	}
}

// The history says who did what and why, the newest first, in pages.
func TestHistory(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var c Changed
	a.json("PUT", "/v1/policies/p?why=one", wasm, &c)
	a.json("POST", "/v1/policies/p/disable?why=two", "", &c)
	a.json("POST", "/v1/policies/p/enable?why=three", "", &c)
	var h, rest History
	a.json("GET", "/v1/policies/history?limit=2", "", &h)
	if len(h.Entries) != 2 || h.Entries[0].Why != "three" || h.Entries[1].Why != "two" || h.Entries[0].Who != whoAnonymous ||
		h.Entries[0].Revision != c.Revision || h.Entries[0].Name != "p" {
		t.Fatalf("%+v", h)
	}
	a.json("GET", "/v1/policies/history?before="+strconv.FormatUint(h.Entries[1].Seq, 10), "", &rest)
	if len(rest.Entries) == 0 || rest.Entries[0].Why != "one" || rest.Entries[0].Digest != c.Digest {
		t.Errorf("%+v", rest)
	}
	for _, q := range []string{"limit=0", "limit=1001", "limit=x", "before=0", "before=x"} {
		a.problem(400, "GET", "/v1/policies/history?"+q, "", nil)
	}
	a.problem(400, "PUT", "/v1/policies/history", wasm, nil) // its name is taken by this route
}

// A module that the server has need not be sent again.
func TestPushByDigest(t *testing.T) {
	a := start(t, Options{})
	none := strings.Repeat("0", 64)
	if p := a.problem(404, "PUT", "/v1/policies/p?digest="+none, "", nil); p.Code != CodeUnknownModule {
		t.Errorf("%+v", p)
	}
	var first, second Changed
	wasm := module(t)
	a.json("PUT", "/v1/policies/p", wasm, &first)
	a.json("PUT", "/v1/policies/q?digest="+first.Digest, "", &second)
	if second.Digest != first.Digest || second.Name != "q" {
		t.Errorf("%+v", second)
	}
	a.problem(400, "PUT", "/v1/policies/p?digest="+none, wasm, nil)
}

// What the operator trusts decides, and who sends something else is told so and written down.
func TestSignaturesAndPins(t *testing.T) {
	wasm := module(t)
	pub, key, err := registry.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	log := &entries{}
	a := startOn(t, "127.0.0.1:0", registry.Options{
		Keys: []ed25519.PublicKey{pub}, RequireSignature: true, Pins: map[string][]string{"pinned": {strings.Repeat("0", 64)}},
	}, Options{Audit: log})
	signed := func(r *http.Request) {
		r.Header.Set(SignatureHeader, strings.TrimSpace(string(registry.Sign(key, []byte(wasm)))))
	}
	if p := a.problem(403, "PUT", "/v1/policies/p", wasm, nil); p.Code != CodeSignature {
		t.Errorf("%+v", p)
	}
	if e := log.take(t); e == nil || e.Code != string(CodeSignature) || len(e.Digest) != 64 {
		t.Errorf("written down: %+v", e)
	}
	if p := a.problem(403, "PUT", "/v1/policies/p", wasm+"\x00", signed); p.Code != CodeSignature {
		t.Errorf("another module's signature: %+v", p)
	}
	if p := a.problem(403, "PUT", "/v1/policies/pinned", wasm, signed); p.Code != CodePinned {
		t.Errorf("%+v", p)
	}
	if code, _, body := a.do("PUT", "/v1/policies/p", wasm, signed); code != 200 {
		t.Errorf("signed: %d %s", code, body)
	}
	var h History
	if a.json("GET", "/v1/policies/history?limit=1", "", &h); h.Entries[0].SignedBy != registry.KeyID(pub) {
		t.Errorf("%+v", h.Entries[0])
	}
}
