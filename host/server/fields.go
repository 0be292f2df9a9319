package server

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/spec"
)

// common are the fields that both completion routes take. A nil pointer is a field that is absent or null.
type common struct {
	Model         string          `json:"model"`
	MaxTokens     *int64          `json:"max_tokens"`
	MaxCompletion *int64          `json:"max_completion_tokens"`
	Stream        *bool           `json:"stream"`
	StreamOptions *streamOptions  `json:"stream_options"`
	N             *int64          `json:"n"`
	Stop          json.RawMessage `json:"stop"`
	IgnoreEOS     *bool           `json:"ignore_eos"`

	Temperature       *float64           `json:"temperature"`
	TopP              *float64           `json:"top_p"`
	TopK              *int64             `json:"top_k"`
	MinP              *float64           `json:"min_p"`
	Seed              *int64             `json:"seed"`
	RepetitionPenalty *float64           `json:"repetition_penalty"`
	PresencePenalty   *float64           `json:"presence_penalty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty"`
	LogitBias         map[string]float64 `json:"logit_bias"`

	Logprobs    json.RawMessage `json:"logprobs"`     // true in a chat, a number elsewhere
	TopLogprobs *int64          `json:"top_logprobs"` // of a chat

	ResponseFormat json.RawMessage `json:"response_format"`
	Grammar        string          `json:"grammar"` // GBNF

	Class    string          `json:"class"`
	Priority *int64          `json:"priority"`
	Tenant   string          `json:"tenant"`
	QueueTTL json.RawMessage `json:"queue_ttl"`
	Deadline json.RawMessage `json:"deadline"`
	TTFT     json.RawMessage `json:"ttft"`
}

type streamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats"`
}

const (
	maxStops     = 4
	maxStopBytes = 1024
	maxBiases    = 1024
)

// fill takes the fields over into the call, all but the prompt and the number of tokens.
func (f *common) fill(k *call) error {
	if f.N != nil {
		if *f.N < 1 || *f.N > maxChoices {
			return badRequest("n", codeValue, "n must be between 1 and %d, but is %d", maxChoices, *f.N)
		}
		k.n = int(*f.N)
	}
	k.stream = value(f.Stream)
	if o := f.StreamOptions; o != nil {
		k.usage, k.running = o.IncludeUsage, o.IncludeUsage && o.ContinuousUsage
	}
	k.req.IgnoreEOS = value(f.IgnoreEOS)
	var err error
	if k.req.Stop, err = f.stops(); err != nil {
		return err
	}
	if err = f.probs(k); err != nil {
		return err
	}
	if err = f.constrain(k); err != nil {
		return err
	}
	return f.sampling(k)
}

func (f *common) stops() ([]string, error) {
	if !present(f.Stop) {
		return nil, nil
	}
	var stops []string
	if f.Stop[0] == '"' {
		stops = make([]string, 1)
		if err := decodeField("stop", f.Stop, &stops[0], "a string"); err != nil {
			return nil, err
		}
	} else if err := decodeField("stop", f.Stop, &stops, "a string or an array of strings"); err != nil {
		return nil, err
	}
	if len(stops) > maxStops {
		return nil, badRequest("stop", codeValue, "stop holds %d strings, at most %d", len(stops), maxStops)
	}
	for _, s := range stops {
		if s == "" || len(s) > maxStopBytes {
			return nil, badRequest("stop", codeValue, "a stop string must have 1 to %d bytes, but one has %d", maxStopBytes, len(s))
		}
	}
	return stops, nil
}

// probs is what the client wants to know of the tokens' probabilities: a chat says whether, and how many others beside each;
// a completion says both in one number.
func (f *common) probs(k *call) error {
	var top int64
	if present(f.Logprobs) {
		if !k.form.chat {
			if err := decodeField("logprobs", f.Logprobs, &top, "an integer"); err != nil {
				return err
			}
			k.req.Logprobs = true
		} else if err := decodeField("logprobs", f.Logprobs, &k.req.Logprobs, "true or false"); err != nil {
			return err
		}
	}
	name := "logprobs"
	if f.TopLogprobs != nil && (k.form.chat || *f.TopLogprobs != 0) {
		name, top = "top_logprobs", *f.TopLogprobs
		if !k.form.chat {
			return badRequest(name, codeRefused, "top_logprobs is for chat completions; here logprobs is the number")
		}
		if top != 0 && !k.req.Logprobs {
			return badRequest(name, codeValue, "top_logprobs needs logprobs to be true")
		}
	}
	if top < 0 || top > engine.MaxLogprobs {
		return badRequest(name, codeValue, "%s must be between 0 and %d, but is %d", name, engine.MaxLogprobs, top)
	}
	k.req.TopLogprobs = int(top)
	return nil
}

// sampling is greedy when no temperature is given.
func (f *common) sampling(k *call) error {
	p := spec.Params{
		Temperature: value(f.Temperature), TopP: value(f.TopP), MinP: value(f.MinP), RepetitionPenalty: value(f.RepetitionPenalty),
		PresencePenalty: value(f.PresencePenalty), FrequencyPenalty: value(f.FrequencyPenalty),
	}
	// In Params 0 is "off"; a client who writes 0 means something else.
	for _, z := range []struct {
		name string
		v    *float64
	}{{"top_p", f.TopP}, {"repetition_penalty", f.RepetitionPenalty}} {
		if z.v != nil && *z.v == 0 {
			return badRequest(z.name, codeValue, "%s must be above 0; leave it out to turn it off", z.name)
		}
	}
	if f.TopK != nil {
		if *f.TopK < -1 || *f.TopK > math.MaxInt32 {
			return badRequest("top_k", codeValue, "top_k must be at least 0, or -1 for all tokens, but is %d", *f.TopK)
		}
		p.TopK = int(max(*f.TopK, 0))
	}
	var err error
	if p.LogitBias, err = f.bias(k.s.cfg.Info.VocabSize); err != nil {
		return err
	}
	p.Seed = k.seed()
	if f.Seed != nil {
		p.Seed = uint64(*f.Seed)
	}
	if err := p.Validate(); err != nil {
		return paramError(err)
	}
	k.req.Sampling = p
	return nil
}

func (f *common) bias(vocab int) (map[gpu.Token]float64, error) {
	if len(f.LogitBias) == 0 {
		return nil, nil
	}
	if len(f.LogitBias) > maxBiases {
		return nil, badRequest("logit_bias", codeValue, "logit_bias holds %d tokens, at most %d", len(f.LogitBias), maxBiases)
	}
	out := make(map[gpu.Token]float64, len(f.LogitBias))
	for key, v := range f.LogitBias {
		t, err := strconv.ParseInt(key, 10, 32)
		if err != nil || t < 0 || t >= int64(vocab) || strconv.FormatInt(t, 10) != key { // two spellings would be two biases of one token
			return nil, badRequest("logit_bias", codeValue, "logit_bias must be keyed by token ids from 0 to %d, but one key is %.40q", vocab-1, key)
		}
		out[gpu.Token(t)] = v
	}
	return out, nil
}

// paramError is the 400 for what the sampler refuses.
func paramError(err error) error {
	var p *spec.ParamError
	if errors.As(err, &p) {
		return badRequest(p.Param, codeValue, "%v", p)
	}
	return badRequest("", codeValue, "%v", err)
}

// budget is how many tokens the answer may have; free is what the context leaves, and def what is asked for by silence.
func (f *common) budget(promptTokens, free, def int) (int, error) {
	name, asked := "max_tokens", f.MaxTokens
	if f.MaxCompletion != nil {
		name, asked = "max_completion_tokens", f.MaxCompletion
	}
	if asked == nil {
		return min(def, free), nil
	}
	if *asked < 1 {
		return 0, badRequest(name, codeValue, "%s must be at least 1, but is %d", name, *asked)
	}
	if *asked > int64(free) {
		return 0, badRequest(name, codeContext, "%s is %d, but with %d prompt tokens the model's context of %d leaves room for %d",
			name, *asked, promptTokens, promptTokens+free, free)
	}
	return int(*asked), nil
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
