// Command sandbox measures what a hostile policy can do to the server: how long a call that never ends takes until it is
// stopped, by a loop and by recursion; the longest pause of other goroutines while a policy runs away at every call; and how
// long a Go policy takes to load, cold and with its compiled code on disk.
//
//	go run ./bench/sandbox [--runs 5]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sluice-dev/sluice/bench/internal/guest"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
)

func main() {
	runs := flag.Int("runs", 5, "runs; the median counts")
	flag.Parse()
	if err := run(*runs); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
}

func run(runs int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tROWS\tMEDIAN\tWORST")
	for _, name := range []string{"loop", "recurse"} {
		for _, rows := range []int{1, 256} {
			all, err := stop(name, rows, runs*20)
			if err != nil {
				return err
			}
			print(w, "stop of an endless "+name, rows, all)
		}
	}
	with, err := pauses(true)
	if err != nil {
		return err
	}
	without, err := pauses(false)
	if err != nil {
		return err
	}
	print(w, "pause of another goroutine, and GC, quiet", 0, without)
	print(w, "the same beside a runaway", 256, with)
	cold, warm, err := loads(runs)
	if err != nil {
		return err
	}
	print(w, "load of a Go policy, cold", 0, cold)
	print(w, "load of a Go policy, from the cache", 0, warm)
	return w.Flush()
}

func print(w *tabwriter.Writer, what string, rows int, all []time.Duration) {
	slices.Sort(all)
	fmt.Fprintf(w, "%s\t%d\t%v\t%v\n", what, rows, all[len(all)/2].Round(100*time.Nanosecond), all[len(all)-1].Round(100*time.Nanosecond))
}

// hostile loads a guest into a host that never quarantines it.
func hostile(name string) (*plugins.Host, func(), error) {
	wasm, err := guest.Build(name, "sdk/c")
	if err != nil {
		return nil, nil, err
	}
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("start runtime: %w", err)
	}
	host := plugins.New(rt, plugins.Options{FaultLimit: 1 << 30, FaultWindow: 1})
	stop := func() { _ = host.Close(); _ = rt.Close() }
	if err := host.SetAll(context.Background(), []plugins.Policy{{Name: name, Wasm: wasm}}); err != nil {
		stop()
		return nil, nil, err
	}
	return host, stop, nil
}

// asker asks about so many rows, in the one state in which the hostile guests never end.
func asker(host *plugins.Host, n int) func() error {
	st := &abi.State{Size: abi.StateSize, NowNS: 1e9, WaitingRequests: 99}
	rows, out, by := make([]abi.Row, n), make([]abi.Verdict, n), make([]abi.PolicyID, n)
	return func() error {
		st.NowNS += 1e9
		set, _, _ := host.Swap(st.NowNS)
		set.Admit(st, rows, out, by)
		if by[0] >= 0 {
			return fmt.Errorf("the guest was not stopped")
		}
		return nil
	}
}

// stop times calls that are stopped, each with a fresh instance: the policy host makes those beside the loop.
func stop(name string, rows, calls int) (all []time.Duration, err error) {
	host, done, err := hostile(name)
	if err != nil {
		return nil, err
	}
	defer done()
	ask := asker(host, rows)
	for range calls {
		time.Sleep(10 * time.Millisecond) // a spare is made
		from := time.Now()
		if err := ask(); err != nil {
			return nil, err
		}
		all = append(all, time.Since(from))
	}
	if n := host.List()[0].Calls[0].Fallbacks[plugins.FaultNoInstance.String()]; n > 0 {
		return nil, fmt.Errorf("%d calls of %s met no instance: they were not stopped", n, name)
	}
	return all[1:], nil
}

// pauses collects, once for each garbage collection, the longest time for which a goroutine that only reads the clock was
// not running, with or without a policy that runs away at every call.
func pauses(runaway bool) (all []time.Duration, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	ended, failed := make(chan struct{}), make(chan error, 1)
	if runaway {
		host, done, err := hostile("loop")
		if err != nil {
			return nil, err
		}
		defer done()
		ask := asker(host, 256)
		stopped := make(chan struct{})
		defer func() { close(ended); <-stopped }()
		go func() {
			defer close(stopped)
			for {
				select {
				case <-ended:
					return
				default:
					if err := ask(); err != nil {
						failed <- err
						return
					}
				}
			}
		}()
	}
	for range 50 {
		collected := make(chan struct{})
		go func() { runtime.GC(); close(collected) }()
		worst, last := time.Duration(0), time.Now()
		for done := false; !done; {
			select {
			case <-collected:
				done = true
			default:
			}
			now := time.Now()
			worst, last = max(worst, now.Sub(last)), now
		}
		all = append(all, worst)
	}
	select {
	case err := <-failed:
		return nil, err
	default:
		return all, nil
	}
}

// loads times Prepare and SetAll of a shipped Go policy with an empty and with a filled cache of compiled code.
func loads(runs int) (cold, warm []time.Duration, err error) {
	p := policies.Shipped()[0]
	for range runs {
		dir, err := os.MkdirTemp("", "cache")
		if err != nil {
			return nil, nil, fmt.Errorf("make folder: %w", err)
		}
		defer os.RemoveAll(dir)
		for _, all := range []*[]time.Duration{&cold, &warm} {
			took, err := load(filepath.Join(dir, "compiled"), plugins.Policy{Name: p.Name, Wasm: p.Wasm})
			if err != nil {
				return nil, nil, err
			}
			*all = append(*all, took)
		}
	}
	return cold, warm, nil
}

func load(cache string, p plugins.Policy) (time.Duration, error) {
	rt, err := wazero.New(wazero.Options{CacheDir: cache})
	if err != nil {
		return 0, fmt.Errorf("start runtime: %w", err)
	}
	defer rt.Close()
	host := plugins.New(rt, plugins.Options{})
	defer host.Close()
	from := time.Now()
	if err := host.SetAll(context.Background(), []plugins.Policy{p}); err != nil {
		return 0, err
	}
	return time.Since(from), nil
}
