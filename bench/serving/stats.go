package main

import (
	"math"
	"slices"
	"time"
)

// quantile is the nearest-rank quantile; 0 of nothing.
func quantile[T float64 | time.Duration](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func median[T float64 | time.Duration](values []T) T { return quantile(values, 0.5) }

// perSecond is the output tokens per second from the first request to the last end.
func perSecond(answers []answer) float64 {
	tokens := 0
	var first, last time.Duration = math.MaxInt64, 0
	for _, a := range answers {
		tokens += a.tokens
		first, last = min(first, a.sent), max(last, a.sent+a.ends)
	}
	return float64(tokens) / (last - first).Seconds()
}

func ms(d time.Duration) float64 { return math.Round(float64(d)/1e4) / 100 }
