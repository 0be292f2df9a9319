package spec

import "github.com/sluice-dev/sluice/gpu"

// Params is how a request's tokens are drawn. The zero value is greedy.
type Params struct {
	Temperature       float64 // 0 = greedy; 0..2
	TopP              float64 // 0 or 1 = off; (0, 1]
	TopK              int     // 0 = off
	MinP              float64 // 0 = off; [0, 1]
	RepetitionPenalty float64 // 0 or 1 = off; (0, 2]
	PresencePenalty   float64 // -2..2
	FrequencyPenalty  float64 // -2..2
	LogitBias         map[gpu.Token]float64
	Seed              uint64
}
