package admin

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins/registry"
)

// Whatever a client sends, the server neither fails nor panics, and what it refuses it refuses as a problem. The registry has
// not been started, so that what is well formed is a 503.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ method, target, ifMatch, kind, signature, body string }{
		{"PUT", "/v1/policies/p?set=a=b&dry_run=1&why=x", `"1"`, "application/wasm", "QQ==", "\x00asm"},
		{"PUT", "/v1/policies/p/shadow?digest=00", "*", "", "", ""},
		{"PUT", "/v1/safe-mode", "", "application/json", "", `{"on":true,"why":"x"}`},
		{"GET", "/v1/policies/history?limit=1&before=2", "", "", "", ""},
		{"DELETE", "/v1/policies/%2e%2e", `W/"1"`, "", "", ""},
		{"POST", "/v1/policies/p/promote", `"x`, "", "", ""},
	} {
		f.Add(seed.method, seed.target, seed.ifMatch, seed.kind, seed.signature, seed.body)
	}
	reg, err := registry.Open(registry.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { reg.Close() })
	s := New(Options{Policies: reg, Log: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, method, target, ifMatch, kind, signature, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" || strings.HasPrefix(u.Path, "/debug/") || strings.HasPrefix(u.Path, "/v1/status") {
			return // profiles take their time, and there is no status here
		}
		req, err := http.NewRequest(method, "http://localhost"+u.RequestURI(), strings.NewReader(body))
		if err != nil {
			return
		}
		for name, v := range map[string]string{"If-Match": ifMatch, "Content-Type": kind, SignatureHeader: signature} {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
				return
			}
			req.Header.Set(name, v)
		}
		resp, err := s.app.Test(req, -1)
		if err != nil {
			return // it was no request
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode == 500 || resp.StatusCode >= 400 && method != http.MethodHead &&
			(resp.Header.Get("Content-Type") != ProblemType || !bytes.Contains(text, []byte(`"code":"`))) {
			t.Errorf("%s %q: %d %s %s", method, target, resp.StatusCode, resp.Header.Get("Content-Type"), text)
		}
	})
}
