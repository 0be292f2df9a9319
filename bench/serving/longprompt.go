package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Of the requests of the long-prompt scenario.
const (
	chats      = 8
	chatPrompt = 32
	chatTokens = 64
	longPrompt = 2000
	longTokens = 16
	probeEvery = 250 * time.Millisecond // short prompts that come whatever happens to the others
	probeToken = 8
	longEvery  = 4 * time.Second
	longFirst  = time.Second
)

// longTarget is the most that Sluice's gap and TTFT may be of the peer's.
const longTarget = 0.5

// longRun is what one server did, medians over the turns.
type longRun struct {
	Server   string  `json:"server"`
	MaxGap   float64 `json:"chat_max_gap_ms"`
	TTFTP50  float64 `json:"short_ttft_p50_ms"`
	TTFTP95  float64 `json:"short_ttft_p95_ms"`
	LongTTFT float64 `json:"long_ttft_ms"` // of the long prompts, median
	ChatRate float64 `json:"chat_tokens_per_s"`
	Failed   int     `json:"failed"` // requests that were not served, of all turns; their TTFT is how long they waited for that
}

// runLongPrompt sends long prompts into a load of short chats, and short prompts beside them, which measure what a newcomer
// waits. The arrivals are the same for all servers.
func runLongPrompt(ctx context.Context, o options, servers []*server) ([]longRun, error) {
	turns := map[string][]longRun{}
	for i := range o.repeat {
		for j := range servers {
			s := servers[(i+j)%len(servers)]
			r, err := longTurn(ctx, o, s, uint64(i))
			if err != nil {
				return nil, fmt.Errorf("measure %s with a long prompt: %w", s.name, err)
			}
			turns[s.name] = append(turns[s.name], r)
		}
	}
	var out []longRun
	for _, s := range servers {
		out = append(out, medianRun(turns[s.name]))
	}
	return out, nil
}

func longTurn(ctx context.Context, o options, s *server, seed uint64) (longRun, error) {
	longs := 3
	if o.quick {
		longs = 1
	}
	length := longFirst + time.Duration(longs)*longEvery
	arrive := newPrompts(10_000 + seed)
	var long, short []arrival
	for i := range longs {
		long = append(long, arrival{longFirst + time.Duration(i)*longEvery, ask{prompt: arrive.next(longPrompt), tokens: longTokens}})
	}
	for at := longFirst; at < length; at += probeEvery {
		short = append(short, arrival{at, ask{prompt: arrive.next(chatPrompt), tokens: probeToken}})
	}
	chat := newPrompts(20_000 + seed)
	begin := time.Now()
	done := make(chan []answer, 1)
	go func() { done <- open(ctx, s.client, begin, append(long, short...)) }()
	chatted := until(ctx, s.client, begin, length, chats, func() ask { return ask{prompt: chat.next(chatPrompt), tokens: chatTokens} })
	arrived := <-done
	return summarizeLong(s.name, chatted, arrived[:longs], arrived[longs:])
}

func summarizeLong(name string, chatted, long, short []answer) (longRun, error) {
	r := longRun{Server: name}
	var gap time.Duration
	var finished []answer
	for _, a := range chatted {
		if !a.served() {
			r.Failed++
			continue
		}
		finished = append(finished, a)
		gap = max(gap, a.maxGap())
	}
	waits := func(answers []answer) (w []time.Duration) {
		for _, a := range answers {
			if !a.served() {
				r.Failed++
			}
			w = append(w, a.ttft())
		}
		return w
	}
	shortWaits, longWaits := waits(short), waits(long)
	if len(finished) == 0 {
		return r, fmt.Errorf("no chat was served: %w", chatted[0].problem())
	}
	r.MaxGap, r.ChatRate = ms(gap), perSecond(finished)
	r.TTFTP50, r.TTFTP95, r.LongTTFT = ms(median(shortWaits)), ms(quantile(shortWaits, 0.95)), ms(median(longWaits))
	return r, nil
}

func medianRun(turns []longRun) longRun {
	of := func(f func(longRun) float64) float64 {
		var v []float64
		for _, t := range turns {
			v = append(v, f(t))
		}
		return median(v)
	}
	m := longRun{
		Server: turns[0].Server,
		MaxGap: of(func(r longRun) float64 { return r.MaxGap }), TTFTP50: of(func(r longRun) float64 { return r.TTFTP50 }),
		TTFTP95: of(func(r longRun) float64 { return r.TTFTP95 }), LongTTFT: of(func(r longRun) float64 { return r.LongTTFT }),
		ChatRate: of(func(r longRun) float64 { return r.ChatRate }),
	}
	for _, t := range turns {
		m.Failed += t.Failed
	}
	return m
}

func printLongPrompt(w io.Writer, runs []longRun, o options) error {
	fmt.Fprintf(w, "\nPrompts of %d tokens among %d chats (%d tokens, %d generated) and a short prompt every %v: median of %d turns.\n\n",
		longPrompt, chats, chatPrompt, chatTokens, probeEvery, o.repeat)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SERVER\tCHATS_MAX_GAP_MS\tSHORT_TTFT_P50_MS\tSHORT_TTFT_P95_MS\tLONG_TTFT_MS\tCHATS_TOK_S\tFAILED")
	for _, r := range runs {
		fmt.Fprintf(tw, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%d\n", r.Server, r.MaxGap, r.TTFTP50, r.TTFTP95, r.LongTTFT, r.ChatRate, r.Failed)
	}
	for _, p := range runs[1:] {
		gap, ttft := runs[0].MaxGap/p.MaxGap, runs[0].TTFTP95/p.TTFTP95
		fmt.Fprintf(tw, "ratio to %s\t%.2f, target <= %.1f: %s\t\t%.2f, target <= %.1f: %s\t%.2f\t%.2f\t\n", p.Server,
			gap, longTarget, runs[0].judge(gap), ttft, longTarget, runs[0].judge(ttft), runs[0].LongTTFT/p.LongTTFT, runs[0].ChatRate/p.ChatRate)
	}
	return tw.Flush()
}

// judge holds a ratio against the target. A server that refuses some looks fast to the others, so it has to serve all.
func (r longRun) judge(ratio float64) string {
	if r.Failed > 0 {
		return "missed, not all served"
	}
	return met(ratio <= longTarget)
}
