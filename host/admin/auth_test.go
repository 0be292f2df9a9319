package admin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenRefusesPublicAddressWithoutToken(t *testing.T) {
	for addr, open := range map[string]bool{
		"127.0.0.1:0": true, "127.9.9.9:0": true, "[::1]:0": true, "localhost:0": true, "[::ffff:127.0.0.1]:0": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false, "example.com:0": false, "localhost.example.com:0": false,
	} {
		if got := loopback(addr); got != open {
			t.Errorf("loopback(%s) = %v", addr, got)
		}
		if !open {
			if ln, err := Listen(addr, ""); !errors.Is(err, ErrNeedsToken) {
				t.Errorf("%s without token: %v, %v", addr, ln, err)
			}
		}
	}
	ln, err := Listen("0.0.0.0:0", "secret")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, file, env, want, err string }{
		{"none", "", "", "", ""},
		{"file", file("good", "  tok\n"), "", "tok", ""},
		{"environment wins", file("good", "tok\n"), "fromenv\n", "fromenv", ""},
		{"empty file", file("empty", " \n"), "", "", "is empty"},
		{"large file", file("large", strings.Repeat("x", 5000)), "", "", "larger than"},
		{"missing file", filepath.Join(dir, "none"), "", "", "no such file"},
	} {
		got, err := ReadToken(c.file, func(string) (string, bool) { return c.env, c.env != "" })
		if got != c.want || (c.err == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
