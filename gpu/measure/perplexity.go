package measure

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"

	"github.com/sluice-dev/sluice/gpu"
)

// Text is a short English text, to compare two forms of one model by. It is too short to compare models by.
//
//go:embed text.txt
var Text string

// perplexityWindow is the tokens of a window, and perplexityRows those of one step: each row of logits takes memory.
const (
	perplexityWindow = 512
	perplexityRows   = 64
)

// Perplexity is exp of the mean negative log likelihood that the model on dev gives each token after those before it: of all but
// the first token of each window of 512. It is 1 for a model that knows the text, and the size of the vocabulary for one that knows
// nothing. dev must hold nothing, and is left so.
func Perplexity(ctx context.Context, dev gpu.Device, tokens []gpu.Token) (float64, error) {
	defer context.AfterFunc(ctx, dev.Abort)()
	info := dev.Info()
	window := min(perplexityWindow, info.ContextTokens, info.KVTokens)
	var sum float64
	n := 0
	for at := 0; at < len(tokens); at += window {
		part := tokens[at:min(at+window, len(tokens))]
		nats, err := surprise(ctx, dev, part, min(perplexityRows, info.MaxBatchTokens))
		if err = errors.Join(err, dev.Trim(0, 0)); err != nil {
			return 0, fmt.Errorf("compute perplexity: %w", err)
		}
		sum, n = sum+nats, n+len(part)-1
	}
	if n == 0 {
		return 0, errors.New("compute perplexity: the text has fewer than two tokens")
	}
	return math.Exp(sum / float64(n)), nil
}

// surprise is the sum of the negative log likelihoods of the tokens after the first, in nats.
func surprise(ctx context.Context, dev gpu.Device, tokens []gpu.Token, rows int) (sum float64, err error) {
	for at := 0; at < len(tokens)-1; at += rows {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		part := tokens[at:min(at+rows, len(tokens)-1)]
		if err := dev.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Pos: at, Tokens: part, Logits: len(part)}}}); err != nil {
			return 0, err
		}
		for i := range part {
			logits, err := dev.Logits(0, i)
			if err != nil {
				return 0, err
			}
			sum += logSum(logits) - float64(logits[tokens[at+i+1]])
		}
	}
	return sum, nil
}

// logSum is the logarithm of the sum of e to each of the logits.
func logSum(logits []float32) float64 {
	top := float64(logits[0])
	for _, x := range logits {
		top = max(top, float64(x))
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	return top + math.Log(sum)
}
