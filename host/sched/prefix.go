package sched

import "sort"

// node is one full KV block of tokens after all those before it. It is there while a sequence holds it.
type node struct {
	hash   uint64 // over all tokens up to the block's end
	parent *node  // nil = the prompt starts with it
	depth  int    // blocks from the start, this one included
	first  int32  // a sequence that holds it, at path[depth-1]; held.next leads to the others
	used   uint64 // kvCache.clock when something last wanted it; a parent's is never below its child's
}

// none ends a list of sequences.
const none = int32(-1)

// prefixTree finds what was computed before by the hashes of full blocks. Since each hash is over all tokens before it
// too, one map is the tree: a node is only ever there together with its parents.
type prefixTree struct {
	nodes map[uint64]*node
	spare []*node // forgotten ones, for the next
}

// has tells whether the first depth blocks of a text with these hashes are there.
func (t *prefixTree) has(hashes []uint64, depth int) bool {
	if depth == 0 {
		return true
	}
	n := t.nodes[hashes[depth-1]]
	return n != nil && n.depth == depth
}

// match is how many blocks of a text with these hashes are there, from the first on. A good guess makes it two look-ups.
func (t *prefixTree) match(hashes []uint64, guess int) int {
	n := len(hashes)
	if guess <= n && t.has(hashes, guess) && (guess == n || !t.has(hashes, guess+1)) {
		return guess
	}
	return sort.Search(n, func(i int) bool { return !t.has(hashes, i+1) })
}

// child returns the node of hash after parent, made if need be; nil when another text has this hash.
func (t *prefixTree) child(parent *node, hash uint64) *node {
	depth := 1
	if parent != nil {
		depth = parent.depth + 1
	}
	if n := t.nodes[hash]; n != nil {
		if n.parent != parent || n.depth != depth {
			return nil
		}
		return n
	}
	if len(t.spare) == 0 {
		t.grow()
	}
	n := t.spare[len(t.spare)-1]
	t.spare = t.spare[:len(t.spare)-1]
	*n = node{hash: hash, parent: parent, depth: depth, first: none}
	t.nodes[hash] = n
	return n
}

// grow makes nodes in lots, so that a step seldom allocates.
func (t *prefixTree) grow() {
	lot := make([]node, 64)
	for i := range lot {
		t.spare = append(t.spare, &lot[i])
	}
}

func (t *prefixTree) forget(n *node) {
	delete(t.nodes, n.hash)
	n.parent = nil
	t.spare = append(t.spare, n)
}
