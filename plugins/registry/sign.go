package registry

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// domain keeps a signature of a policy from being one of anything else.
const domain = "sluice policy module v1\x00"

// GenerateKey makes a pair of keys.
func GenerateKey() (ed25519.PublicKey, ed25519.PrivateKey, error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	return pub, key, nil
}

// Sign returns the detached signature of a module, as it stands in NAME.wasm.sig: one line of base64.
func Sign(key ed25519.PrivateKey, wasm []byte) []byte {
	sig := ed25519.Sign(key, signed(wasm))
	return append(base64.StdEncoding.AppendEncode(nil, sig), '\n')
}

// Verify checks a detached signature and returns the ID of the key that made it. Its error is ErrSignature.
func Verify(keys []ed25519.PublicKey, wasm, signature []byte) (keyID string, err error) {
	sig, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(signature)))
	if err != nil || len(sig) != ed25519.SignatureSize {
		return "", fmt.Errorf("%w: it is not one line of base64 of %d bytes: make it with sluice policy sign", ErrSignature, ed25519.SignatureSize)
	}
	message := signed(wasm)
	for _, k := range keys {
		if ed25519.Verify(k, message, sig) {
			return KeyID(k), nil
		}
	}
	var ids []string
	for _, k := range keys {
		ids = append(ids, KeyID(k))
	}
	return "", fmt.Errorf("%w: none of the keys in policy_keys (%s) made it for this module", ErrSignature, strings.Join(ids, ", "))
}

// signed is what is signed: the module's digest under the domain.
func signed(wasm []byte) []byte {
	sum := sha256.Sum256(wasm)
	return append([]byte(domain), sum[:]...)
}

// KeyID is a short name of a key: the first 16 hex digits of its sha256.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// The types of PEM blocks.
const (
	pemPublic  = "PUBLIC KEY"
	pemPrivate = "PRIVATE KEY"
)

// EncodePublicKey writes a key as PEM, for a file of policy_keys.
func EncodePublicKey(key ed25519.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: der}), nil
}

// EncodePrivateKey writes a key as PEM. Its file must be nobody else's to read.
func EncodePrivateKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
}

// ParsePublicKey reads a key that is PEM, or the base64 of its 32 bytes.
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	raw, err := keyBytes(text, pemPublic)
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	if len(raw) == ed25519.PublicKeySize {
		return raw, nil
	}
	any, err := x509.ParsePKIXPublicKey(raw)
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", errKey)
	}
	key, ok := any.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("read public key: it is a %T, not an ed25519 key", any)
	}
	return key, nil
}

// ParsePrivateKey reads a key that is PEM, or the base64 of its 32 bytes of seed.
func ParsePrivateKey(text []byte) (ed25519.PrivateKey, error) {
	raw, err := keyBytes(text, pemPrivate)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	if len(raw) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(raw), nil
	}
	any, err := x509.ParsePKCS8PrivateKey(raw)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", errKey)
	}
	key, ok := any.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read private key: it is a %T, not an ed25519 key", any)
	}
	return key, nil
}

var errKey = errors.New("it is neither PEM nor base64 of 32 bytes: make one with sluice policy keygen")

// keyBytes takes off the PEM or the base64.
func keyBytes(text []byte, kind string) ([]byte, error) {
	if block, _ := pem.Decode(text); block != nil {
		if block.Type != kind {
			return nil, fmt.Errorf("it is a PEM block %q where %q belongs", block.Type, kind)
		}
		return block.Bytes, nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, errKey
	}
	return raw, nil
}
