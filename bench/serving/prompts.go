package main

import (
	"math/rand/v2"
	"strings"
)

// words are single tokens of the default model's vocabulary when a space stands before them.
var words = strings.Fields(`time year people way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government number night point home water
room mother area money story fact month lot right study book eye job word business issue side kind head house service
friend father power hour game line end member law car city community name`)

// prompts makes texts of random words. No two are alike, so no server finds in its cache what another must compute.
type prompts struct{ rng *rand.Rand }

func newPrompts(seed uint64) *prompts { return &prompts{rand.New(rand.NewPCG(seed, 1))} }

// next is a text of n tokens, n of the words.
func (p *prompts) next(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(' ')
		b.WriteString(words[p.rng.IntN(len(words))])
	}
	return b.String()
}

// asks are n requests with prompts of one length.
func (p *prompts) asks(n, promptTokens, tokens int) []ask {
	out := make([]ask, n)
	for i := range out {
		out[i] = ask{prompt: p.next(promptTokens), tokens: tokens}
	}
	return out
}
