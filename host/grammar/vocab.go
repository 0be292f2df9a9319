package grammar

import (
	"bytes"
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// Vocab is a model's tokens, sorted by the bytes that they stand for. It may be used from any goroutine.
type Vocab struct {
	tok   gpu.Tokenizer
	size  int
	nodes []trie
	order []gpu.Token // tokens with text, by their bytes
	ends  []gpu.Token
}

// trie is a node of the tree of all tokens' bytes.
type trie struct {
	b              byte
	child, sibling int32 // 0 = none: node 0 is the root
	from, to       int32 // the tokens, in order, that end here
}

// NewVocab sorts the tokens. It takes about 20 ms for 50,000 of them.
func NewVocab(tok gpu.Tokenizer, size int) *Vocab {
	v := &Vocab{tok: tok, size: size, nodes: make([]trie, 1, 2*size)}
	for t := range gpu.Token(size) {
		switch {
		case tok.IsEnd(t):
			v.ends = append(v.ends, t)
		case len(tok.Piece(t)) > 0:
			v.order = append(v.order, t)
		}
	}
	slices.SortFunc(v.order, func(a, b gpu.Token) int { return bytes.Compare(tok.Piece(a), tok.Piece(b)) })
	path := []int32{0} // nodes of the last token's bytes
	var last []byte
	for i, t := range v.order {
		piece := tok.Piece(t)
		same := 0
		for same < len(piece) && same < len(last) && piece[same] == last[same] {
			same++
		}
		path = v.grow(path[:same+1], piece[same:], lastOf(path, same))
		n := &v.nodes[path[len(path)-1]]
		if n.to == 0 {
			n.from = int32(i)
		}
		n.to = int32(i) + 1
		last = piece
	}
	return v
}

// lastOf is the node behind the shared part of a path: its sibling is what comes next; 0 = none.
func lastOf(path []int32, same int) int32 {
	if same+1 < len(path) {
		return path[same+1]
	}
	return 0
}

// grow adds a node for each byte of rest below path, the first one as the sibling of before.
func (v *Vocab) grow(path []int32, rest []byte, before int32) []int32 {
	for _, b := range rest {
		n := int32(len(v.nodes))
		v.nodes = append(v.nodes, trie{b: b})
		if before > 0 {
			v.nodes[before].sibling = n
		} else {
			v.nodes[path[len(path)-1]].child = n
		}
		path, before = append(path, n), 0
	}
	return path
}
