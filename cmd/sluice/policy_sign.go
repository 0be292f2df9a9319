package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
	"github.com/sluice-dev/sluice/plugins/registry"
	"github.com/spf13/cobra"
)

// sigSuffix is what the name of a module's signature ends in, after the module's own.
const sigSuffix = ".sig"

func newPolicyKeygen(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a pair of keys that sign policies",
		Long: `Keygen writes a new private key to FILE, for 'sluice policy sign', and its public key to FILE.pub, for the
servers that are to take what it signs. Neither file may be there yet.`,
		Example: "  sluice policy keygen release.key",
		Args:    takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := keygen(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, k)
			}
			_, err = fmt.Fprintf(t.out, "key %s: wrote %s, which is secret, and %s\n", k.Key, k.Private, k.Public)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// keyPair says what keygen wrote.
type keyPair struct {
	Key     string `json:"key"`     // its ID
	Private string `json:"private"` // file
	Public  string `json:"public"`  // file
}

func keygen(file string) (k keyPair, err error) {
	pub, key, err := registry.GenerateKey()
	if err != nil {
		return k, err
	}
	k = keyPair{Key: registry.KeyID(pub), Private: file, Public: file + ".pub"}
	private, err := registry.EncodePrivateKey(key)
	if err != nil {
		return k, err
	}
	public, err := registry.EncodePublicKey(pub)
	if err != nil {
		return k, err
	}
	if exists(k.Public) {
		return k, usageErrorf("%s is there already", k.Public)
	}
	if err := writeNew(k.Private, private, 0o600); err != nil {
		return k, err
	}
	return k, writeNew(k.Public, public, 0o644)
}

// writeNew writes a file that must not be there yet.
func writeNew(file string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return usageErrorf("%s is there already", file)
	}
	if err != nil {
		return usageErrorf("write key: %w", err)
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(fmt.Errorf("write key: %w", err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}

func newPolicySign(t terminal) *cobra.Command {
	var keyFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "sign FILE --key KEYFILE",
		Short:   "Write a module's signature to FILE.sig, where push, shadow and a policy_folder look for it",
		Example: "  sluice policy sign queue-age.wasm --key release.key",
		Args:    takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if keyFile == "" {
				return usageErrorf("sign needs --key, a file that 'sluice policy keygen' wrote")
			}
			s, err := sign(args[0], keyFile)
			if err != nil {
				return usageError{err}
			}
			if asJSON {
				return printJSON(t.out, s)
			}
			_, err = fmt.Fprintf(t.out, "key %s: wrote %s\n", s.Key, s.Signature)
			return err
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "the private key's file (needed)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// signed says what sign wrote.
type signed struct {
	Key       string `json:"key"`       // its ID
	Module    string `json:"module"`    // file
	Signature string `json:"signature"` // file
}

func sign(file, keyFile string) (s signed, err error) {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return s, fmt.Errorf("read private key: %w", err)
	}
	key, err := registry.ParsePrivateKey(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w", keyFile, err)
	}
	wasm, err := readPolicy(file)
	if err != nil {
		return s, err
	}
	s = signed{Key: registry.KeyID(key.Public().(ed25519.PublicKey)), Module: file, Signature: file + sigSuffix}
	if err := renameio.WriteFile(s.Signature, registry.Sign(key, wasm), 0o644); err != nil {
		return s, fmt.Errorf("write signature: %w", err)
	}
	return s, nil
}
