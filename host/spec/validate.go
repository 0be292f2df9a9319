package spec

import (
	"fmt"
	"math"

	"github.com/sluice-dev/sluice/gpu"
)

// MaxLogitBias is the largest absolute value of a logit bias, as in the OpenAI API.
const MaxLogitBias = 100

// ParamError says which parameter is out of its range. Param is the name in the OpenAI API and its common extensions.
type ParamError struct {
	Param string
	Value any
	Want  string
}

// Error names the parameter, what it must be, and what it was.
func (e *ParamError) Error() string {
	return fmt.Sprintf("%s must be %s, but is %v", e.Param, e.Want, e.Value)
}

// Validate returns a *ParamError for the first parameter that is out of its range or not finite.
func (p Params) Validate() error {
	for _, r := range []struct {
		name   string
		v      float64
		lo, hi float64
	}{
		{"temperature", p.Temperature, 0, 2},
		{"top_p", p.TopP, 0, 1},
		{"min_p", p.MinP, 0, 1},
		{"repetition_penalty", p.RepetitionPenalty, 0, 2},
		{"presence_penalty", p.PresencePenalty, -2, 2},
		{"frequency_penalty", p.FrequencyPenalty, -2, 2},
	} {
		if !(r.v >= r.lo && r.v <= r.hi) { // a NaN fails too
			return &ParamError{r.name, r.v, fmt.Sprintf("between %g and %g", r.lo, r.hi)}
		}
	}
	if p.TopK < 0 {
		return &ParamError{"top_k", p.TopK, "0 or more"}
	}
	return validateBias(p.LogitBias)
}

// validateBias reports the lowest token with a wrong bias, so that the message does not depend on the map's order.
func validateBias(bias map[gpu.Token]float64) error {
	bad, found := gpu.Token(0), false
	for t, b := range bias {
		if wrong := t < 0 || math.IsNaN(b) || math.Abs(b) > MaxLogitBias; wrong && (!found || t < bad) {
			bad, found = t, true
		}
	}
	switch {
	case !found:
		return nil
	case bad < 0:
		return &ParamError{"logit_bias", bad, "keyed by token ids of 0 or more"}
	}
	return &ParamError{"logit_bias", bias[bad], fmt.Sprintf("between %d and %d", -MaxLogitBias, MaxLogitBias)}
}
