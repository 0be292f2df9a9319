package spec

import (
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/gpu"
)

// ErrNoToken says that a row of logits has nothing to draw from: all NaN or -Inf.
var ErrNoToken = errors.New("the device computed no usable logits")

// Verify draws the tokens that one forward pass allows and appends them to history. rows(0) is the logits row of the last
// known token, rows(i) that of draft[i-1]; index is the output index of the first token drawn.
//
// The drafts are point masses, so a draft is accepted exactly when the token drawn from the model's own distribution
// equals it, and the drawn token is emitted either way. A fresh draw after a mismatch would bias the text. After the last
// accepted draft its row gives one more token.
//
// emitted is 1 + the number of accepted drafts, or with an error, the tokens drawn before it. Stop conditions are the
// caller's: what follows an end token in the emitted tokens is to be dropped.
func Verify(s *Sampler, rows func(i int) ([]float32, error), draft []gpu.Token, index int, history *[]gpu.Token) (emitted int, err error) {
	for i := 0; ; i++ {
		row, err := rows(i)
		if err != nil {
			return emitted, fmt.Errorf("read logits row %d: %w", i, err)
		}
		t := s.Sample(row, index+i, *history)
		if t == NoToken {
			return emitted, fmt.Errorf("sample row %d: %w", i, ErrNoToken)
		}
		*history = append(*history, t)
		emitted++
		if i == len(draft) || t != draft[i] {
			return emitted, nil
		}
	}
}
