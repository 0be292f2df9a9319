package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
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

// runAndKill starts a child, kills it after some changes, and returns the last revision that it acknowledged.
func runAndKill(t *testing.T, dir string, changes int) (acked uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, err := fmt.Sscan(lines.Text(), &acked); err != nil {
			t.Fatalf("child: %s", lines.Text())
		}
		if changes--; changes == 0 {
			for range rand.IntN(200_000) { // somewhere within the next change
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	for lines.Scan() { // what it said before the signal reached it, part of which the scanner may have read already
		fmt.Sscan(lines.Text(), &acked)
	}
	cmd.Wait() // "signal: killed"
	return acked
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := t.TempDir()
	for round := range 20 {
		acked := runAndKill(t, dir, 1+rand.IntN(8))
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
