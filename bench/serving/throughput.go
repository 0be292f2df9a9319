package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
)

// Of the requests of the throughput scenario.
const (
	throughputPrompt = 32
	throughputTokens = 128
	quickTokens      = 32
)

// perStream is how many requests each stream makes in a turn, so that turns take about as long at any number of streams.
var perStream = map[int]int{1: 4, 4: 2, 8: 2, 16: 2}

// noDrafts has Sluice generate one token a step, as its peers do.
var noDrafts = map[string]string{"x-sluice-speculation": "off"}

// rate is one number of streams on Sluice and on a peer, in output tokens per second.
type rate struct {
	Streams      int     `json:"streams"`
	Peer         string  `json:"peer"`
	PeerRate     float64 `json:"peer_tokens_per_s"`
	Sluice       float64 `json:"sluice_no_drafts_tokens_per_s"`
	Ratio        float64 `json:"ratio_no_drafts"` // median over the turns of Sluice's rate over the peer's
	Shipped      float64 `json:"sluice_tokens_per_s"`
	ShippedRatio float64 `json:"ratio"`
	Target       float64 `json:"target"`
	Refused      int     `json:"refused"` // of all turns, by either server; their tokens are in no rate
	PromptTokens int     `json:"sluice_prompt_tokens"`
	PeerPrompt   int     `json:"peer_prompt_tokens"`
}

// throughputTarget is the least ratio to a peer that is aimed at.
var throughputTarget = map[string]float64{nameLlama: 1.0, nameVLLM: 1.3, nameVLLMFull: 1.3}

// runThroughput has each server generate answers of a fixed length in a closed loop, the servers in turns.
func runThroughput(ctx context.Context, o options, sluice *server, peers []*server) ([]rate, error) {
	var rates []rate
	for _, n := range o.streams {
		runs, err := o.turns(ctx, n, append([]*server{sluice}, peers...))
		if err != nil {
			return nil, err
		}
		for _, p := range peers {
			r := rate{Streams: n, Peer: p.name, Target: throughputTarget[p.name]}
			r.fill(runs, p.name)
			rates = append(rates, r)
		}
	}
	return rates, nil
}

// turn is one pass over all servers.
type turn struct {
	rates   map[string]float64 // by server; noDraftsKey is Sluice without drafts
	prompt  map[string]int     // prompt tokens, as the server counts them
	refused map[string]int
}

const noDraftsKey = nameSluice + ", no drafts"

// turns measures o.repeat times, after one turn that warms up, with the order of the servers turned round each time.
func (o options) turns(ctx context.Context, streams int, servers []*server) ([]turn, error) {
	var all []turn
	for i := range o.repeat + 1 {
		t := turn{map[string]float64{}, map[string]int{}, map[string]int{}}
		asks := newPrompts(uint64(1000*streams+i)).asks(streams*o.perStream(streams, i == 0), throughputPrompt, o.tokens())
		for j := range servers {
			s := servers[(i*(len(servers)-1)+j)%len(servers)]
			if err := t.measure(ctx, s, s.name, streams, asks); err != nil {
				return nil, err
			}
			if s.name != nameSluice {
				continue
			}
			if err := t.measure(ctx, s, noDraftsKey, streams, withHeader(asks, noDrafts)); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			all = append(all, t)
		}
	}
	return all, nil
}

func (o options) perStream(streams int, warmUp bool) int {
	if n := perStream[streams]; n > 0 && !warmUp && !o.quick {
		return n
	}
	return 1
}

// tokens is the length of each answer.
func (o options) tokens() int {
	if o.quick {
		return quickTokens
	}
	return throughputTokens
}

func withHeader(asks []ask, header map[string]string) []ask {
	out := make([]ask, len(asks))
	for i, a := range asks {
		a.header = header
		out[i] = a
	}
	return out
}

func (t *turn) measure(ctx context.Context, s *server, key string, streams int, asks []ask) error {
	served, refused, err := split(closed(ctx, s.client, streams, asks))
	if err != nil {
		return fmt.Errorf("measure %s with %d streams: %w", key, streams, err)
	}
	t.rates[key], t.prompt[s.name] = perSecond(served), served[0].promptTokens
	t.refused[s.name] += refused
	return nil
}

// fill takes the medians over the turns.
func (r *rate) fill(turns []turn, peer string) {
	var peers, plain, shipped, plainRatio, shippedRatio []float64
	for _, t := range turns {
		p, n, s := t.rates[peer], t.rates[noDraftsKey], t.rates[nameSluice]
		peers, plain, shipped = append(peers, p), append(plain, n), append(shipped, s)
		plainRatio, shippedRatio = append(plainRatio, n/p), append(shippedRatio, s/p)
		r.Refused += t.refused[nameSluice] + t.refused[peer]
		r.PromptTokens, r.PeerPrompt = t.prompt[nameSluice], t.prompt[peer]
	}
	r.PeerRate, r.Sluice, r.Shipped = median(peers), median(plain), median(shipped)
	r.Ratio, r.ShippedRatio = median(plainRatio), median(shippedRatio)
}

func printThroughput(w io.Writer, rates []rate, o options) error {
	fmt.Fprintf(w, "\nOutput tokens/s: prompts of %d tokens, %d generated, closed loop, median of %d turns. The target is for the ratio without drafts.\n\n", throughputPrompt, o.tokens(), o.repeat)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "STREAMS\tPEER\tPEER_TOK_S\tSLUICE_NO_DRAFTS\tRATIO\tTARGET\t\tSLUICE_AS_SHIPPED\tRATIO\tREFUSED")
	for _, r := range rates {
		fmt.Fprintf(tw, "%d\t%s\t%.1f\t%.1f\t%.2f\t>= %.1f\t%s\t%.1f\t%.2f\t%d\n", r.Streams, r.Peer, r.PeerRate, r.Sluice, r.Ratio, r.Target, met(r.Ratio >= r.Target), r.Shipped, r.ShippedRatio, r.Refused)
	}
	return tw.Flush()
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}
