package llama

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/gpu/llama/internal/gguf"
)

// recordsLayers are the architectures whose graphs in llama.cpp v0.5.0 name the inputs of their layers and whose memory
// can be cut back. With any other one the first decode would end the process.
var recordsLayers = []string{
	"llama", "qwen3", "qwen3moe", "gemma4", "gpt-oss", "nanbeige", "minimax-m2", "hunyuan_vl", "muse-glimmer",
}

// mtpGraphs are the architectures for which llama.cpp v0.5.0 has a graph of one MTP block over memory that can be cut back.
// With mla, the model must use multi-head latent attention.
var mtpGraphs = map[string]struct{ mla bool }{
	"glm4moe": {}, "cohere2moe": {}, "glm-dsa": {mla: true}, "deepseek2": {mla: true}, "deepseek32": {mla: true},
}

// checkDrafter looks at the files' headers, before any C code sees them, for all that would end the process later or give
// nonsense without an error.
func (o Options) checkDrafter(target *gguf.Header) error {
	switch o.Drafter {
	case DrafterMTP:
		if err := checkMTP(target); err != nil {
			return usagef("drafter mtp with %s: %w", o.ModelPath, err)
		}
	case DrafterModel, DrafterEAGLE3:
		head, err := gguf.ReadFile(o.DraftModel)
		if err != nil {
			return headerError(o.DraftModel, err)
		}
		if o.Drafter == DrafterModel && head.Architecture() == "eagle3" {
			return usagef("draft model %s is an EAGLE-3 head: use it with --drafter %s", o.DraftModel, DrafterEAGLE3)
		}
		if o.Drafter == DrafterModel {
			return nil
		}
		if err := checkEAGLE3(target, head, o.DraftModel); err != nil {
			return usagef("EAGLE-3 head %s with %s: %w", o.DraftModel, o.ModelPath, err)
		}
	}
	return nil
}

// number reads a key that begins with the architecture's name.
func number(h *gguf.Header, key string) int {
	return int(min(h.Numbers[h.Architecture()+"."+key], 1<<31))
}

// layers is how many layers the model runs for a token; those of MTP blocks come after them.
func layers(h *gguf.Header) int {
	return number(h, "block_count") - number(h, "nextn_predict_layers")
}

// vocabulary is how many tokens the file knows.
func vocabulary(h *gguf.Header) int {
	if n, ok := h.Lengths["tokenizer.ggml.tokens"]; ok {
		return int(min(n, 1<<31))
	}
	return number(h, "vocab_size")
}

func checkMTP(h *gguf.Header) error {
	arch, blocks := h.Architecture(), number(h, "nextn_predict_layers")
	graph, runs := mtpGraphs[arch]
	switch {
	case blocks == 0:
		return fmt.Errorf("this model has no MTP block")
	case !runs:
		return fmt.Errorf("MTP blocks of the architecture %q are not supported, only of %v", arch, mtpNames())
	case blocks > 1:
		return fmt.Errorf("this model has %d MTP blocks; only models with one are supported", blocks)
	case layers(h) < 1:
		return fmt.Errorf("the file claims %d layers", layers(h))
	case layers(h) < number(h, "leading_dense_block_count"):
		return fmt.Errorf("the MTP block is not of the kind that llama.cpp runs: it has no experts")
	case graph.mla && (number(h, "attention.key_length_mla") == 0 || number(h, "attention.value_length_mla") == 0):
		return fmt.Errorf("the MTP block needs multi-head latent attention, which this file does not use")
	case arch == "deepseek2" && h.Floats[arch+".attention.temperature_scale"] != 0:
		return fmt.Errorf("the MTP block does not support attention temperature scaling")
	}
	for _, part := range []string{"nextn.eh_proj", "nextn.enorm", "nextn.hnorm", "ffn_gate_inp"} {
		if name := fmt.Sprintf("blk.%d.%s.weight", layers(h), part); h.Tensor(name) == nil {
			return fmt.Errorf("the file declares an MTP block but lacks its tensor %s", name)
		}
	}
	return nil
}

func mtpNames() []string {
	var out []string
	for name := range mtpGraphs {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func checkEAGLE3(target, head *gguf.Header, file string) error {
	ids := head.Ints["eagle3.target_layers"]
	switch arch := target.Architecture(); {
	case head.Architecture() != "eagle3":
		return fmt.Errorf("the file is of the architecture %q, not an EAGLE-3 head", head.Architecture())
	case !slices.Contains(recordsLayers, arch):
		return fmt.Errorf("heads on the architecture %q are not supported, only on %v", arch, recordsLayers)
	case number(head, "block_count") != 1:
		return fmt.Errorf("the head has %d layers, not 1", number(head, "block_count"))
	case len(ids) != 3:
		return fmt.Errorf("the head names %d layers of its target, not 3", head.Lengths["eagle3.target_layers"])
	case number(head, "target_hidden_size") != number(target, "embedding_length"):
		return fmt.Errorf("the head is for a hidden size of %d, the model's is %d", number(head, "target_hidden_size"), number(target, "embedding_length"))
	case vocabulary(head) != vocabulary(target):
		return fmt.Errorf("the head knows %d tokens, the model %d: they must share one vocabulary", vocabulary(head), vocabulary(target))
	case number(head, "attention.key_length") != number(head, "attention.value_length"):
		return fmt.Errorf("the head's keys and values differ in length, which llama.cpp does not run")
	}
	for _, id := range ids {
		if id < 0 || int(id) >= layers(target) {
			return fmt.Errorf("the head reads the input of layer %d, the model has the layers 0..%d", id, layers(target)-1)
		}
	}
	return checkHeadVocabulary(target, head, file)
}

// checkHeadVocabulary looks at the matrices in which a head may be smaller than its target or use the target's own.
func checkHeadVocabulary(target, head *gguf.Header, file string) error {
	n := vocabulary(target)
	embedding, output, d2t := head.Tensor("token_embd.weight"), head.Tensor("output.weight"), head.Tensor("d2t")
	if (embedding == nil || output == nil) && number(head, "embedding_length") != number(target, "embedding_length") {
		return fmt.Errorf("the head uses the model's embedding or output, but it is %d wide and the model %d", number(head, "embedding_length"), number(target, "embedding_length"))
	}
	for _, t := range []*gguf.Tensor{embedding, output} {
		if t != nil && len(t.Dims) != 2 {
			return fmt.Errorf("the head's tensor %s has %d dimensions", t.Name, len(t.Dims))
		}
	}
	if embedding != nil && embedding.Dims[1] != uint64(n) {
		return fmt.Errorf("the head embeds %d tokens, the model has %d", embedding.Dims[1], n)
	}
	if d2t == nil {
		return nil
	}
	if output == nil || output.Dims[1] != d2t.Elements() {
		return fmt.Errorf("the head's list of tokens (d2t) does not fit its output")
	}
	return checkTokenList(head, file, n)
}

// checkTokenList refuses a list of target tokens that is not one: llama.cpp writes to where it points.
func checkTokenList(head *gguf.Header, file string, vocab int) error {
	ids, err := head.ReadInts(file, "d2t")
	if err != nil {
		return fmt.Errorf("read the head's list of tokens: %w", err)
	}
	seen := make([]bool, vocab)
	for i, id := range ids {
		if id < 0 || id >= int64(vocab) {
			return fmt.Errorf("entry %d of the head's list of tokens (d2t) is %d, the model has the tokens 0..%d", i, id, vocab-1)
		}
		if seen[id] {
			return fmt.Errorf("token %d stands twice in the head's list of tokens (d2t): it must hold token ids, not differences", id)
		}
		seen[id] = true
	}
	return nil
}
