// Package kill ends a process in the middle of its work, to see what is left on disk. The process is the test's own binary,
// whose TestMain does the work where an environment variable asks for it, and prints a number for each step that is safe.
//
// It knows no store: what must be there after that is for the test to say.
//
//	func TestMain(m *testing.M) {
//		if dir := os.Getenv("CHILD"); dir != "" {
//			work(dir) // for ever: fmt.Println(n) once step n is on disk
//		}
//		os.Exit(m.Run())
//	}
//
//	acked := kill.After(t, 5, "CHILD="+dir) // 5 steps, and perhaps some more
package kill

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
)

// After starts the child with env beside the test's own environment, kills it after so many lines, and returns the last
// number that it printed; -1 for none, when it died before the first. A line that is no number fails the test.
func After(t *testing.T, lines int, env ...string) (acked int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked = -1
	killed := false
	for scan := bufio.NewScanner(out); scan.Scan(); { // to the end: also what it said before the signal reached it
		n := 0
		if _, err := fmt.Sscan(scan.Text(), &n); err == nil {
			acked = n
		} else if !killed { // a killed one may end within a line
			t.Fatalf("child: %s", scan.Text())
		}
		if lines--; lines > 0 || killed {
			continue
		}
		for range rand.IntN(200_000) { // somewhere within the next step
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed = true
	}
	_ = cmd.Wait() // "signal: killed"
	return acked
}
