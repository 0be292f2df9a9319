package spec

import (
	"errors"
	"math"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

func TestValidate(t *testing.T) {
	good := []Params{
		{},
		{Temperature: 2, TopP: 1, TopK: 1 << 30, MinP: 1, RepetitionPenalty: 2, PresencePenalty: -2, FrequencyPenalty: 2},
		{LogitBias: map[gpu.Token]float64{0: -100, 1 << 30: 100}},
	}
	for _, p := range good {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	nan := math.NaN()
	for want, p := range map[string]Params{
		"temperature must be between 0 and 2, but is -0.1":              {Temperature: -0.1},
		"temperature must be between 0 and 2, but is NaN":               {Temperature: nan},
		"temperature must be between 0 and 2, but is +Inf":              {Temperature: math.Inf(1)},
		"top_p must be between 0 and 1, but is 1.01":                    {TopP: 1.01},
		"min_p must be between 0 and 1, but is NaN":                     {MinP: nan},
		"top_k must be 0 or more, but is -1":                            {TopK: -1},
		"repetition_penalty must be between 0 and 2, but is -1":         {RepetitionPenalty: -1},
		"presence_penalty must be between -2 and 2, but is 2.5":         {PresencePenalty: 2.5},
		"frequency_penalty must be between -2 and 2, but is -3":         {FrequencyPenalty: -3},
		"logit_bias must be between -100 and 100, but is 101":           {LogitBias: map[gpu.Token]float64{3: 101, 9: nan}},
		"logit_bias must be keyed by token ids of 0 or more, but is -1": {LogitBias: map[gpu.Token]float64{-1: 1}},
	} {
		err := p.Validate()
		var pe *ParamError
		if !errors.As(err, &pe) || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
