package registry

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/store"
)

func keys(t testing.TB) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	pub, key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return pub, key
}

func TestKeysGoThroughFiles(t *testing.T) {
	pub, key := keys(t)
	pubPEM, err1 := EncodePublicKey(pub)
	keyPEM, err2 := EncodePrivateKey(key)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"PEM": pubPEM, "base64": []byte(base64.StdEncoding.EncodeToString(pub) + "\n"),
		"PEM after a comment": append([]byte("the key of the build\n"), pubPEM...),
	} {
		if got, err := ParsePublicKey(text); err != nil || !got.Equal(pub) {
			t.Errorf("public, %s: %v", name, err)
		}
	}
	for name, text := range map[string][]byte{"PEM": keyPEM, "base64": []byte(base64.StdEncoding.EncodeToString(key.Seed()))} {
		if got, err := ParsePrivateKey(text); err != nil || !got.Equal(key) {
			t.Errorf("private, %s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		text []byte
		says string
	}{
		"a private key": {keyPEM, `"PRIVATE KEY" where "PUBLIC KEY" belongs`},
		"short":         {[]byte("AAAA"), "neither PEM nor base64"},
		"junk in PEM":   {[]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), "neither PEM nor base64"},
		"nothing":       {nil, "keygen"},
	} {
		if _, err := ParsePublicKey(c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParsePrivateKey(pubPEM); err == nil {
		t.Error("a public key was taken for a private one")
	}
}

func TestSignatures(t *testing.T) {
	pub, key := keys(t)
	other, _ := keys(t)
	wasm := guesttest.Admitter(1)
	sig := Sign(key, wasm)
	if id, err := Verify([]ed25519.PublicKey{other, pub}, wasm, sig); err != nil || id != KeyID(pub) {
		t.Errorf("%s, %v", id, err)
	}
	raw := ed25519.Sign(key, []byte(store.Digest(wasm))) // without the domain
	for name, c := range map[string]struct{ wasm, sig []byte }{
		"another module":     {guesttest.Admitter(2), sig},
		"another key's":      {wasm, Sign(mustKey(t), wasm)},
		"cut off":            {wasm, sig[:len(sig)/2]},
		"not base64":         {wasm, []byte("!!!")},
		"nothing":            {wasm, nil},
		"of something else":  {wasm, []byte(base64.StdEncoding.EncodeToString(raw))},
		"a bit was changed":  {wasm, append([]byte{sig[0] ^ 1}, sig[1:]...)},
		"the module is gone": {nil, sig},
	} {
		if _, err := Verify([]ed25519.PublicKey{pub}, c.wasm, c.sig); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func mustKey(t testing.TB) ed25519.PrivateKey {
	_, key := keys(t)
	return key
}

// What is not signed as it must be is refused, and that is recorded.
func TestRequiredSignatures(t *testing.T) {
	pub, key := keys(t)
	r := begin(t, Options{Dir: t.TempDir(), Keys: []ed25519.PublicKey{pub}, RequireSignature: true}, policy("shipped", 9))
	wasm := guesttest.Admitter(1)
	for name, c := range map[string]struct {
		sig  []byte
		says string
	}{
		"missing": {nil, "there is none, and require_signature is set"},
		"wrong":   {Sign(mustKey(t), wasm), KeyID(pub)},
	} {
		for op, do := range map[string]func(Request) (Result, error){
			"push":   func(q Request) (Result, error) { return r.Push(background, q) },
			"shadow": func(q Request) (Result, error) { return r.Shadow(background, q) },
		} {
			_, err := do(Request{Name: "p", Wasm: wasm, Signature: c.sig, By: ada})
			if !errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: %v", op, name, err)
			}
			if e := r.entries()[0]; e.Refused != err.Error() || string(e.Op) != op || e.Name != "p" {
				t.Errorf("%s, %s: %+v", op, name, e)
			}
		}
	}
	if _, err := r.Check(background, Request{Name: "p", Wasm: wasm}); !errors.Is(err, ErrSignature) {
		t.Errorf("check: %v", err)
	}
	if r.names() != "shipped:active " {
		t.Errorf("in force: %s", r.names())
	}
	res, err := r.Push(background, Request{Name: "p", Wasm: wasm, Signature: Sign(key, wasm), By: ada})
	if err != nil || res.Entry.SignedBy != KeyID(pub) {
		t.Fatalf("%+v, %v", res, err)
	}
	// The store remembers the signature with the module.
	res, err = r.Push(background, Request{Name: "again", Digest: store.Digest(wasm), By: ada})
	if err != nil || res.Entry.SignedBy != KeyID(pub) {
		t.Errorf("%+v, %v", res, err)
	}
}

// A key that was taken away counts no more after a restart.
func TestARevokedKey(t *testing.T) {
	dir := t.TempDir()
	old, key := keys(t)
	wasm := guesttest.Admitter(1)
	r := begin(t, Options{Dir: dir, Keys: []ed25519.PublicKey{old}, RequireSignature: true}, policy("shipped", 9))
	if _, err := r.Push(background, Request{Name: "p", Wasm: wasm, Signature: Sign(key, wasm), By: ada}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = begin(t, Options{Dir: dir, Keys: []ed25519.PublicKey{old}, RequireSignature: true}, policy("shipped", 9))
	r.warned()
	if r.names() != "shipped:active p:active " {
		t.Errorf("with the key: %s", r.names())
	}
	r.stop()
	pub, _ := keys(t)
	r = begin(t, Options{Dir: dir, Keys: []ed25519.PublicKey{pub}, RequireSignature: true}, policy("shipped", 9))
	r.warned("policy p@", "signature refused", "the native default decides")
	if r.names() != "shipped:active " {
		t.Errorf("without it: %s", r.names())
	}
}

func TestPins(t *testing.T) {
	dir := t.TempDir()
	pins := map[string][]string{"p": {store.Digest(guesttest.Admitter(1)), store.Digest(guesttest.Admitter(2))}}
	r := begin(t, Options{Dir: dir, Pins: pins})
	r.push("p", 1)
	r.push("p", 2)
	r.push("free", 4)
	_, err := r.Push(background, Request{Name: "p", Wasm: guesttest.Admitter(3), By: ada})
	if !errors.Is(err, ErrPinned) || !strings.Contains(err.Error(), pins["p"][0]) || r.entries()[0].Refused == "" {
		t.Errorf("%v, %+v", err, r.entries()[0])
	}
	r.stop()
	pins["p"] = pins["p"][:1]
	r = begin(t, Options{Dir: dir, Pins: pins})
	r.warned("is pinned", "is used instead")
	if r.names() != "p:active free:active " || r.mark() != 1 {
		t.Errorf("%s, %d decides", r.names(), r.mark())
	}
	if _, err := try(t, Options{Pins: pins}, false, policy("p", 2)); !errors.Is(err, ErrPinned) {
		t.Errorf("configured: %v", err)
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	if _, err := Open(Options{RequireSignature: true}); err == nil || !strings.Contains(err.Error(), "no key") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(Options{Keys: []ed25519.PublicKey{{1, 2}}}); err == nil || !strings.Contains(err.Error(), "2 bytes") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseKeys(f *testing.F) {
	pub, key := keys(f)
	a, _ := EncodePublicKey(pub)
	b, _ := EncodePrivateKey(key)
	f.Add(a)
	f.Add(b)
	f.Add([]byte(base64.StdEncoding.EncodeToString(pub)))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := ParsePublicKey(text); err == nil {
			again, err := EncodePublicKey(k)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := ParsePublicKey(again); err != nil || !twice.Equal(k) {
				t.Fatal(err)
			}
		}
		if k, err := ParsePrivateKey(text); err == nil {
			if !bytes.Equal(Sign(k, text), Sign(k, text)) {
				t.Fatal("a key signs differently")
			}
		}
		_, _ = Verify([]ed25519.PublicKey{pub}, a, text)
	})
}
