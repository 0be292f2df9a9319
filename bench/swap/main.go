// Command swap replaces a policy a thousand times under full load and compares what the clients see with a run of the same
// length without swaps: the gaps between tokens, and that every request ends once and is recorded once. It also says what is
// left of the replaced modules.
//
//	go run ./bench/swap [--swaps 1000] [--streams 16]
//
// The device is simulated and takes the time of the default model on two cores; the policies are small ones in C.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/sluice-dev/sluice/bench/internal/guest"
	"github.com/sluice-dev/sluice/plugins"
)

func main() {
	swaps := flag.Int("swaps", 1000, "how often the policy is replaced")
	streams := flag.Int("streams", 16, "requests in flight at any time")
	flag.Parse()
	if err := run(*swaps, *streams); err != nil {
		fmt.Fprintln(os.Stderr, "swap:", err)
		os.Exit(1)
	}
}

func run(swaps, streams int) error {
	wasm, err := guest.Build("shed", "sdk/c")
	if err != nil {
		return err
	}
	s, err := serve(wasm)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := s.load(streams, func() error { time.Sleep(2 * time.Second); return nil }); err != nil { // warms up
		return fmt.Errorf("warm up: %w", err)
	}
	before := left(s.counted)
	from := time.Now()
	with, err := s.load(streams, func() error { return s.swap(wasm, swaps) })
	if err != nil {
		return fmt.Errorf("load with swaps: %w", err)
	}
	took := time.Since(from)
	after := left(s.counted)
	without, err := s.load(streams, func() error { time.Sleep(took); return nil })
	if err != nil {
		return fmt.Errorf("load without swaps: %w", err)
	}
	fmt.Printf("%d swaps in %v, %d streams\n", swaps, took.Round(time.Millisecond), streams)
	fmt.Println("without swaps:", without)
	fmt.Println("with swaps:   ", with)
	fmt.Printf("p99 gap with swaps / without: %.3f\n", float64(with.gap(99))/float64(without.gap(99)))
	fmt.Println("before:", before)
	fmt.Println("after: ", after)
	return nil
}

// swap pushes the same module under a name again and again, each time with bytes that make it another digest.
func (s *server) swap(wasm []byte, swaps int) error {
	for i := range swaps {
		if err := s.host.Push(context.Background(), "shed", tagged(wasm, i), nil); err != nil {
			return fmt.Errorf("push number %d: %w", i, err)
		}
	}
	return nil
}

// tagged is the module with a custom section that numbers it.
func tagged(wasm []byte, n int) []byte {
	text := strconv.Itoa(n)
	section := append([]byte{0, byte(5 + len(text)), 4}, "swap"+text...)
	return append(append([]byte(nil), wasm...), section...)
}

// remains is what a server holds.
type remains struct {
	modules, instances int64
	goroutines         int
	heap               uint64
	resident           string
}

func left(c *counted) remains {
	time.Sleep(200 * time.Millisecond) // the policy host frees beside the loop
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return remains{c.modules.Load(), c.instances.Load(), runtime.NumGoroutine(), m.HeapAlloc, residentMiB()}
}

func (r remains) String() string {
	return fmt.Sprintf("%d modules, %d instances, %d goroutines, heap %.1f MiB, resident %s MiB", r.modules, r.instances, r.goroutines, float64(r.heap)/(1<<20), r.resident)
}

// residentMiB is the process's resident memory as the kernel counts it; "?" where it cannot be read.
func residentMiB() string {
	text, err := os.ReadFile("/proc/self/statm")
	var size, resident int
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &resident)
	}
	if err != nil {
		return "?"
	}
	return strconv.Itoa(resident * os.Getpagesize() >> 20)
}

var quiet = slog.New(slog.DiscardHandler)

var _ plugins.Runtime = (*counted)(nil)
