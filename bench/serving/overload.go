package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// Of the requests of the overload scenario.
const (
	overloadPrompt = 64
	overloadTokens = 64
	overloadFactor = 2                // arrivals over what the faster server can serve
	overloadGrace  = 10 * time.Second // after the last arrival; what is not done then is given up
)

// The objectives that goodput is counted by: those of Sluice's default class.
const (
	goodTTFT = 800 * time.Millisecond
	goodTPOT = 50 * time.Millisecond
)

// tunedAge is how long the second run of Sluice lets a request wait: what is older cannot meet the objective any more.
const tunedAge = "600ms"

// overloadRun is what one server did with the arrivals.
type overloadRun struct {
	Server  string  `json:"server"`
	Rate    float64 `json:"arrivals_per_s"`
	Arrived int     `json:"arrived"`
	Served  int     `json:"served"`
	Refused int     `json:"refused"` // with a status
	Failed  int     `json:"failed"`
	GaveUp  int     `json:"given_up"` // by the client at the end
	Goodput float64 `json:"goodput_per_s"`
	TTFTP50 float64 `json:"ttft_p50_ms"` // of what was served or given up
	TTFTP95 float64 `json:"ttft_p95_ms"`
	Tokens  float64 `json:"served_tokens_per_s"`
}

// runOverload sends Poisson arrivals at twice the capacity of the faster server to each in turn, the same to all.
func runOverload(ctx context.Context, o options, sluice *server, peers []*server) ([]overloadRun, error) {
	servers := append([]*server{sluice}, peers...)
	capacity := 0.0
	for _, s := range servers {
		c, err := measureCapacity(ctx, o, s)
		if err != nil {
			return nil, err
		}
		capacity = max(capacity, c)
	}
	arrivals := poisson(overloadFactor*capacity, o.overload)
	var runs []overloadRun
	for _, s := range servers {
		runs = append(runs, overloadTurn(ctx, o, s, s.name, overloadFactor*capacity, arrivals))
	}
	if err := tune(ctx, o, sluice); err != nil {
		return nil, err
	}
	return append(runs, overloadTurn(ctx, o, sluice, nameSluice+", max_age="+tunedAge, overloadFactor*capacity, arrivals)), nil
}

// tune shortens the longest wait by a push of the policy that ships.
func tune(ctx context.Context, o options, sluice *server) error {
	cmd := exec.CommandContext(ctx, o.place.sluice, "policy", "push", filepath.Join("policies", "queue-age", "queue-age.wasm"), "--set", "max_age="+tunedAge, "--admin", sluice.admin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("push policy: %w: %s", err, out)
	}
	return nil
}

// measureCapacity is requests per second in a closed loop with all slots in use.
func measureCapacity(ctx context.Context, o options, s *server) (float64, error) {
	rounds := 3
	if o.quick {
		rounds = 1
	}
	served, _, err := split(closed(ctx, s.client, slots, newPrompts(30_000).asks(slots*rounds, overloadPrompt, overloadTokens)))
	if err != nil {
		return 0, fmt.Errorf("measure capacity of %s: %w", s.name, err)
	}
	return perSecond(served) / overloadTokens, nil
}

// poisson draws arrivals at a rate a second.
func poisson(rate float64, length time.Duration) []arrival {
	rng := rand.New(rand.NewPCG(40_000, 1))
	text := newPrompts(40_000)
	var out []arrival
	for at := 0.0; ; {
		at += rng.ExpFloat64() / rate
		if at >= length.Seconds() {
			return out
		}
		out = append(out, arrival{time.Duration(at * float64(time.Second)), ask{prompt: text.next(overloadPrompt), tokens: overloadTokens}})
	}
}

func overloadTurn(ctx context.Context, o options, s *server, name string, rate float64, arrivals []arrival) overloadRun {
	begin := time.Now()
	ctx, cancel := context.WithDeadline(ctx, begin.Add(o.overload+overloadGrace))
	defer cancel()
	r := summarizeOverload(open(ctx, s.client, begin, arrivals), o.overload)
	r.Server, r.Rate = name, rate
	return r
}

func summarizeOverload(answers []answer, length time.Duration) overloadRun {
	r := overloadRun{Arrived: len(answers)}
	var waits []time.Duration
	var served []answer
	good := 0
	for _, a := range answers {
		switch {
		case a.served():
			served, waits = append(served, a), append(waits, a.ttft())
			if a.ttft() <= goodTTFT && a.tpot() <= goodTPOT {
				good++
			}
		case errors.Is(a.err, context.DeadlineExceeded):
			r.GaveUp++
			waits = append(waits, a.ttft())
		case a.status != 0 && a.status != http.StatusOK:
			r.Refused++
		default:
			r.Failed++
		}
	}
	if r.Served = len(served); r.Served > 0 {
		r.Tokens = perSecond(served)
	}
	r.Goodput = float64(good) / length.Seconds()
	r.TTFTP50, r.TTFTP95 = ms(median(waits)), ms(quantile(waits, 0.95))
	return r
}

func printOverload(w io.Writer, runs []overloadRun, o options) error {
	fmt.Fprintf(w, "\nOverload: %.1f requests/s for %v, %d times the capacity of the faster server; prompts of %d tokens, %d generated.\nGood: the first token within %v and %v a token. TTFT is of what was served or given up after %v.\n\n",
		runs[0].Rate, o.overload, overloadFactor, overloadPrompt, overloadTokens, goodTTFT, goodTPOT, overloadGrace)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SERVER\tARRIVED\tSERVED\tREFUSED\tGIVEN_UP\tFAILED\tGOODPUT_S\tTTFT_P50_MS\tTTFT_P95_MS\tTOK_S")
	for _, r := range runs {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.0f\t%.0f\t%.1f\n", r.Server, r.Arrived, r.Served, r.Refused, r.GaveUp, r.Failed, r.Goodput, r.TTFTP50, r.TTFTP95, r.Tokens)
	}
	return tw.Flush()
}
