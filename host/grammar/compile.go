package grammar

import "fmt"

// op is what a node does.
type op uint8

const (
	opByte op = iota // takes one byte from lo to hi
	opAny            // goes on in each of outs
	opCall           // goes into a rule, and on at next when that has ended
	opEnd            // ends a rule
)

// node is one state of the compiled form, which is built from behind: each node knows what follows it.
type node struct {
	op     op
	lo, hi byte
	next   int32
	outs   []int32
	rule   int32 // of opCall
}

// Grammar is compiled and ready. It does not change; it may be used from any goroutine.
type Grammar struct {
	nodes []node
	start []int32 // of each rule
	root  int32   // its index in start
}

// compiler turns rules into nodes.
type compiler struct {
	g     *Grammar
	rules []rule
	index map[string]int32
	end   int32
	work  int // what was built, empty things too
	line  int
	err   *Error
}

// Parse reads a grammar in GBNF: rules "name ::= ...", of which root is where texts begin; texts in quotes, classes of characters
// [a-z] and [^a-z], any character ".", groups, alternatives "|", and * + ? {n} {n,} {n,m} behind an item; comments from "#".
// The escapes are those of llama.cpp. An error is an *Error.
func Parse(src string) (*Grammar, error) {
	rules, err := parseRules(src)
	if err != nil {
		return nil, err
	}
	c := &compiler{g: &Grammar{}, rules: rules, index: map[string]int32{}}
	if err := c.compile(); err != nil {
		return nil, err
	}
	return c.g, nil
}

func (c *compiler) compile() *Error {
	for i, r := range c.rules {
		if _, twice := c.index[r.name]; twice {
			return &Error{r.line, fmt.Sprintf("rule %s is there twice", r.name)}
		}
		c.index[r.name] = int32(i)
	}
	root, ok := c.index["root"]
	if !ok {
		return &Error{Message: "there is no rule root, which is where a text begins"}
	}
	c.g.root = root
	c.end = c.add(node{op: opEnd})
	for _, r := range c.rules {
		c.line = r.line
		c.g.start = append(c.g.start, c.build(r.body, c.end))
		if c.err != nil {
			return c.err
		}
	}
	return c.check()
}

func (c *compiler) add(n node) int32 {
	if len(c.g.nodes) >= maxNodes {
		c.tooLarge()
		return 0
	}
	c.g.nodes = append(c.g.nodes, n)
	return int32(len(c.g.nodes) - 1)
}

func (c *compiler) tooLarge() {
	if c.err == nil {
		c.err = &Error{c.line, fmt.Sprintf("the grammar is too large: with repetitions written out it has more than %d parts", maxNodes)}
	}
}

// build returns the node at which e begins, with next behind it.
func (c *compiler) build(e expr, next int32) int32 {
	if c.work++; c.work > 2*maxNodes {
		c.tooLarge()
	}
	if c.err != nil {
		return 0
	}
	switch e := e.(type) {
	case literal:
		for i := len(e) - 1; i >= 0; i-- {
			next = c.add(node{op: opByte, lo: e[i], hi: e[i], next: next})
		}
		return next
	case class:
		return c.buildClass(e, next)
	case ref:
		i, ok := c.index[string(e)]
		if !ok {
			c.err = &Error{c.line, fmt.Sprintf("there is no rule %.64s", string(e))}
			return 0
		}
		return c.add(node{op: opCall, rule: i, next: next})
	case seq:
		for i := len(e) - 1; i >= 0; i-- {
			next = c.build(e[i], next)
		}
		return next
	case alt:
		outs := make([]int32, len(e))
		for i := range e {
			outs[i] = c.build(e[i], next)
		}
		return c.add(node{op: opAny, outs: outs})
	case repeat:
		return c.buildRepeat(e, next)
	}
	return next
}

func (c *compiler) buildClass(e class, next int32) int32 {
	var outs []int32
	for _, s := range e.sequences() {
		at := next
		for i := len(s) - 1; i >= 0; i-- {
			at = c.add(node{op: opByte, lo: s[i].lo, hi: s[i].hi, next: at})
		}
		outs = append(outs, at)
	}
	if len(outs) == 1 {
		return outs[0]
	}
	return c.add(node{op: opAny, outs: outs})
}

// buildRepeat writes what must come out one by one, then what may come as one option within the other, or as a loop.
func (c *compiler) buildRepeat(e repeat, next int32) int32 {
	if e.max < 0 {
		loop := c.add(node{op: opAny})
		body := c.build(e.what, loop)
		if c.err != nil {
			return 0
		}
		c.g.nodes[loop].outs = []int32{body, next}
		next = loop
	}
	after := next
	for i := e.min; i < e.max && c.err == nil; i++ {
		next = c.add(node{op: opAny, outs: []int32{c.build(e.what, next), after}})
	}
	for i := 0; i < e.min && c.err == nil; i++ {
		next = c.build(e.what, next)
	}
	return next
}
