package grammar

import "encoding/binary"

// The bounds of what is followed at a time. What is beyond is dropped: fewer texts can be written, all of them the grammar's.
const (
	maxReadings = 256     // in one state
	maxVisits   = 1 << 13 // nodes on the way from one state to the next
	maxFrames   = 1 << 17 // stacks in memory
	maxStates   = 1 << 10 // kept for later; while one mask is made, eight times as many
	maxMasks    = 1 << 7  // kept for later
	maxWork     = 1 << 20 // visits for one mask or one token
)

// reading is one way to read the text so far: the node that takes the next byte, and the rules that it is in.
type reading struct {
	node  int32
	frame int32
}

// frame is a rule to go on in when the one above it has ended. Equal stacks have one number.
type frame struct {
	node   int32 // where to go on
	parent int32
}

// bottom is the frame of the root rule.
const bottom = -1

// state is all readings of a text. It does not change, but for what is remembered of it.
type state struct {
	readings  []reading
	accepting bool // the text may end here
	next      *[256]*state
	mask      []uint64 // by token: may come next; nil = not known yet
}

// machine follows a grammar byte by byte, and remembers the states that it was in.
type machine struct {
	g      *Grammar
	frames []frame
	known  map[frame]int32
	states map[string]*state
	masks  int
	now    *state
	work   int // visits that are left; see maxWork

	visited map[reading]bool // scratch
	todo    []reading
	from    []reading
	key     []byte
}

func newMachine(g *Grammar) *machine {
	m := &machine{g: g, visited: map[reading]bool{}, work: maxWork}
	m.forget()
	m.now = m.closure([]reading{{g.start[g.root], bottom}})
	return m
}

func (m *machine) forget() {
	m.states, m.known, m.masks = map[string]*state{}, map[frame]int32{}, 0
	m.frames = nil
}

// step returns the state after one more byte.
func (m *machine) step(s *state, b byte) *state {
	if s.next != nil && s.next[b] != nil {
		return s.next[b]
	}
	if m.work <= 0 {
		return &state{}
	}
	m.from = m.from[:0]
	for _, r := range s.readings {
		if n := &m.g.nodes[r.node]; n.lo <= b && b <= n.hi {
			m.from = append(m.from, reading{n.next, r.frame})
		}
	}
	to := m.closure(m.from)
	if len(m.states) < 8*maxStates {
		if s.next == nil {
			s.next = new([256]*state)
		}
		s.next[b] = to
	}
	return to
}

// closure follows what takes no byte. The readings' order is that of the grammar's alternatives, so that which of too many are
// dropped depends on nothing else.
func (m *machine) closure(from []reading) *state {
	clear(m.visited)
	s := &state{}
	m.todo = m.todo[:0]
	for i := len(from) - 1; i >= 0; i-- {
		m.todo = append(m.todo, from[i])
	}
	for len(m.todo) > 0 && len(s.readings) < maxReadings && len(m.visited) < maxVisits {
		r := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		if !m.visited[r] {
			m.visited[r] = true
			m.follow(s, r)
		}
	}
	m.work -= 1 + len(m.visited)
	return m.share(s)
}

func (m *machine) follow(s *state, r reading) {
	n := &m.g.nodes[r.node]
	switch n.op {
	case opByte:
		s.readings = append(s.readings, r)
	case opAny:
		for i := len(n.outs) - 1; i >= 0; i-- {
			m.todo = append(m.todo, reading{n.outs[i], r.frame})
		}
	case opCall:
		if frame, ok := m.push(n.next, r.frame); ok {
			m.todo = append(m.todo, reading{m.g.start[n.rule], frame})
		}
	case opEnd:
		if r.frame == bottom {
			s.accepting = true
			return
		}
		f := m.frames[r.frame]
		m.todo = append(m.todo, reading{f.node, f.parent})
	}
}

// push returns the stack with one more rule on it. A rule that would end at once needs no place: the stack of a rule that ends
// with itself does not grow.
func (m *machine) push(next, parent int32) (int32, bool) {
	if m.g.nodes[next].op == opEnd {
		return parent, true
	}
	f := frame{next, parent}
	if i, ok := m.known[f]; ok {
		return i, true
	}
	if len(m.frames) >= maxFrames {
		return 0, false
	}
	i := int32(len(m.frames))
	m.frames = append(m.frames, f)
	m.known[f] = i
	return i, true
}

// share returns the state that is known by the same readings, if there is one.
func (m *machine) share(s *state) *state {
	m.key = m.key[:0]
	if s.accepting {
		m.key = append(m.key, 1)
	}
	for _, r := range s.readings {
		m.key = binary.LittleEndian.AppendUint32(m.key, uint32(r.node))
		m.key = binary.LittleEndian.AppendUint32(m.key, uint32(r.frame))
	}
	if old, ok := m.states[string(m.key)]; ok {
		return old
	}
	if len(m.states) < 8*maxStates {
		m.states[string(m.key)] = s
	}
	return s
}

// tidy forgets states and stacks when there are many, all but the present state's. It is called between two tokens, when
// nobody else holds a state.
func (m *machine) tidy() {
	if len(m.states) <= maxStates && m.masks <= maxMasks && len(m.frames) <= maxFrames/2 {
		return
	}
	old, frames := m.now, m.frames
	m.forget()
	moved := map[int32]int32{bottom: bottom}
	s := &state{accepting: old.accepting, readings: make([]reading, len(old.readings))}
	for i, r := range old.readings {
		s.readings[i] = reading{r.node, m.move(r.frame, frames, moved)}
	}
	m.now = m.share(s)
}

// move copies a stack out of frames, parents first.
func (m *machine) move(f int32, frames []frame, moved map[int32]int32) int32 {
	var path []int32
	for ; ; f = frames[f].parent {
		if _, ok := moved[f]; ok {
			break
		}
		path = append(path, f)
	}
	to := moved[f]
	for i := len(path) - 1; i >= 0; i-- {
		m.frames = append(m.frames, frame{frames[path[i]].node, to})
		to = int32(len(m.frames) - 1)
		m.known[m.frames[to]] = to
		moved[path[i]] = to
	}
	return to
}
