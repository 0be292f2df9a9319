package main

import (
	"context"
	"testing"
	"time"
)

func TestQuantileIsNearestRank(t *testing.T) {
	v := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, 0.2: 1, 0.5: 3, 0.95: 5, 1: 5} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if quantile[float64](nil, 0.5) != 0 {
		t.Error("of nothing")
	}
}

// The ratio is the median of the turns' ratios, so that a turn in which the machine was slow for both does not count.
func TestRatioIsTakenTurnByTurn(t *testing.T) {
	turns := []turn{}
	for _, x := range [][3]float64{{100, 110, 120}, {10, 11, 12}, {50, 55, 30}} {
		turns = append(turns, turn{rates: map[string]float64{nameLlama: x[0], noDraftsKey: x[1], nameSluice: x[2]}})
	}
	var r rate
	r.fill(turns, nameLlama)
	if r.Ratio != 1.1 || r.ShippedRatio != 1.2 || r.PeerRate != 50 {
		t.Errorf("%+v", r)
	}
}

func answered(sent, first, last time.Duration, tokens int) answer {
	return answer{status: 200, sent: sent, ends: last, tokens: tokens, stamps: []time.Duration{first, last}}
}

func TestGoodputCountsBothObjectives(t *testing.T) {
	const s = time.Second
	r := summarizeOverload([]answer{
		answered(0, goodTTFT, goodTTFT+10*goodTPOT, 11),       // good, at both limits
		answered(s, goodTTFT+1, goodTTFT+2, 11),               // late
		answered(s, goodTTFT, goodTTFT+11*goodTPOT, 11),       // slow
		{status: 503, sent: s, ends: 10 * s},                  // refused: no wait
		{sent: s, ends: 5 * s, err: context.DeadlineExceeded}, // given up: its wait counts
	}, 2*s)
	if r.Served != 3 || r.Refused != 1 || r.GaveUp != 1 || r.Failed != 0 || r.Goodput != 0.5 || r.TTFTP95 != 5000 {
		t.Errorf("%+v", r)
	}
}

func TestLongPromptSummary(t *testing.T) {
	const m = time.Millisecond
	chats := []answer{answered(0, 10*m, 40*m, 2), answered(0, 10*m, 90*m, 2), {status: 503, ends: m}}
	short := []answer{answered(0, 5*m, 6*m, 2), {status: 503, ends: 70 * m}}
	r, err := summarizeLong("s", chats, []answer{answered(0, 200*m, 210*m, 2)}, short)
	if err != nil || r.MaxGap != 80 || r.TTFTP95 != 70 || r.LongTTFT != 200 || r.Failed != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if got := r.judge(0.1); got == met(true) {
		t.Errorf("with %d requests refused the target is %s", r.Failed, got)
	}
	if r.Failed = 0; r.judge(longTarget) != met(true) || r.judge(longTarget+0.01) != met(false) {
		t.Error("the target's limit")
	}
	if _, err := summarizeLong("s", chats[2:], nil, nil); err == nil {
		t.Error("no chat was served, and a summary was made")
	}
}
