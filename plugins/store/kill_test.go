package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/test/kill"
)

const childDir = "SLUICE_POLICY_STORE_CHILD"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

// childOptions make files small, so that a short run rotates and removes some.
var childOptions = Options{MaxHistoryBytes: 4000, KeepManifests: 3}

// child changes the set for ever, and says after each change which it was.
func child(dir string) {
	s, err := Open(dir, childOptions)
	for err == nil {
		n := int(s.Revision())
		var digest string
		if digest, err = s.Put(module(n)); err == nil {
			_, err = s.Commit(set(digest), Entry{Op: OpPush, Name: "p", Digest: digest, Who: "child"})
		}
		fmt.Println(s.Revision())
	}
	fmt.Println("failed", err)
	os.Exit(1)
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := t.TempDir()
	for round := range 20 {
		acked := uint64(max(0, kill.After(t, 1+rand.IntN(8), childDir+"="+dir)))
		s := open(t, dir, childOptions)
		if rev := s.Revision(); rev < acked || rev > acked+1 {
			t.Fatalf("round %d: revision %d was acknowledged, %d is there", round, acked, rev)
		}
		if got := inForce(t, s, int(acked)+1); got != int(s.Revision())-1 {
			t.Fatalf("round %d: module %d at revision %d", round, got, s.Revision())
		}
		for _, m := range s.Kept() {
			if _, err := s.Get(m.Policies[0].Digest); err != nil {
				t.Fatalf("round %d: a kept set: %v", round, err)
			}
		}
		for _, name := range files(t, dir) {
			if strings.Contains(name, tmpPrefix) || strings.HasSuffix(name, damagedSuffix) {
				t.Errorf("round %d: %s is left", round, name)
			}
		}
		for _, w := range s.Warnings() {
			if !strings.Contains(w, "was not finished") {
				t.Errorf("round %d: %s", round, w)
			}
		}
		linear(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
