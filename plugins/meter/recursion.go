package meter

import (
	"cmp"
	"slices"
)

// Cycle is functions each of which calls the next, and the last the first.
type Cycle struct {
	Functions []uint32 // indexes; one for a function that calls itself
	// Group is how many functions may call each other around the cycle. With Table one of the calls goes through a table and
	// may reach any function of its type: the larger the group, the less that says.
	Group int
	Table bool
}

// graph is who may call whom. Behind the functions it has a node for each function type that is called through a table,
// from which every function of that type can be reached that is referenced anywhere: a conservative view that stays small.
type graph struct {
	functions int
	direct    [][]uint32
	all       [][]uint32 // direct calls, and those through tables
	roots     []uint32   // what the host calls
}

// graph builds the graph from the survey.
func (d *decoder) graph() graph {
	n := len(d.functions)
	g := graph{functions: n, direct: make([][]uint32, n)}
	for _, e := range unique(d.about.calls) {
		g.direct[e.from] = append(g.direct[e.from], e.to)
	}
	first := d.firstTypes()
	g.all = make([][]uint32, n+len(d.types))
	for i := range g.direct {
		g.all[i] = slices.Clone(g.direct[i])
	}
	for i := range d.about.indirect {
		d.about.indirect[i].to = uint32(n) + first[d.about.indirect[i].to]
	}
	for _, e := range unique(d.about.indirect) {
		g.all[e.from] = append(g.all[e.from], e.to)
	}
	slices.Sort(d.about.referenced)
	for _, f := range slices.Compact(d.about.referenced) {
		t := uint32(n) + first[d.functions[f]]
		g.all[t] = append(g.all[t], f)
	}
	for f := range d.about.exports {
		g.roots = append(g.roots, f)
	}
	slices.Sort(g.roots)
	return g
}

// firstTypes gives for each type the first one that is equal to it.
func (d *decoder) firstTypes() []uint32 {
	first := make([]uint32, len(d.types))
	seen := map[string]uint32{}
	for i, t := range d.types {
		key := string(t.params) + ":" + string(t.results)
		if _, ok := seen[key]; !ok {
			seen[key] = uint32(i)
		}
		first[i] = seen[key]
	}
	return first
}

func unique(edges []edge) []edge {
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return slices.Compact(edges)
}

// Recursion finds the functions that may call themselves, among those that the exports and the start function reach and
// that skip does not name: those of a language's runtime, of which nobody wants to hear. It gives one cycle for each group
// of functions: those of direct calls first, then those that need a call through a table.
func (d *Description) Recursion(skip func(index int, f *Function) bool) []Cycle {
	g := &d.graph
	reached := reach(g.all, slices.Clone(g.roots))
	for i := range d.Functions {
		if skip(i, &d.Functions[i]) {
			reached[i] = false
		}
	}
	var cycles []Cycle
	for _, group := range groups(g.direct, reached) {
		cycles = append(cycles, Cycle{Functions: directCycle(g.direct, group), Group: len(group)})
	}
	for _, group := range groups(g.all, reached) {
		table := slices.IndexFunc(group, func(f uint32) bool { return int(f) >= g.functions })
		if table < 0 {
			continue
		}
		c := Cycle{Table: true}
		for _, f := range group {
			if int(f) < g.functions {
				c.Group++
			}
		}
		for _, f := range shortest(g.all, group, group[table]) {
			if int(f) < g.functions {
				c.Functions = append(c.Functions, f)
			}
		}
		cycles = append(cycles, c)
	}
	return cycles
}

// reach marks what can be reached from the roots.
func reach(next [][]uint32, roots []uint32) []bool {
	seen := make([]bool, len(next))
	stack := roots
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen[f] {
			seen[f] = true
			stack = append(stack, next[f]...)
		}
	}
	return seen
}

// groups gives the strongly connected components of the nodes marked in, those with a cycle, each sorted, in the order of
// their first nodes. It is Tarjan's algorithm without recursion of its own: a module's call chains are as long as it likes.
func groups(next [][]uint32, in []bool) (all [][]uint32) {
	t := &tarjan{next: next, in: in, index: make([]int, len(next)), low: make([]int, len(next)), on: make([]bool, len(next))}
	for f := range next {
		if in[f] && t.index[f] == 0 {
			t.visit(uint32(f))
		}
	}
	for _, c := range t.found {
		slices.Sort(c)
		if len(c) > 1 || slices.Contains(next[c[0]], c[0]) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b []uint32) int { return cmp.Compare(a[0], b[0]) })
	return all
}

type tarjan struct {
	next       [][]uint32
	in         []bool // all others are not there
	index, low []int  // from 1; 0 = not seen
	on         []bool
	stack      []uint32
	count      int
	found      [][]uint32
}

// visit walks everything that can be reached from a node.
func (t *tarjan) visit(root uint32) {
	type place struct {
		f uint32
		i int // of its next edge
	}
	path := []place{{root, 0}}
	t.enter(root)
	for len(path) > 0 {
		top := &path[len(path)-1]
		if top.i < len(t.next[top.f]) {
			to := t.next[top.f][top.i]
			top.i++
			switch {
			case !t.in[to]:
			case t.index[to] == 0:
				t.enter(to)
				path = append(path, place{to, 0})
			case t.on[to]:
				t.low[top.f] = min(t.low[top.f], t.index[to])
			}
			continue
		}
		f := top.f
		path = path[:len(path)-1]
		if len(path) > 0 {
			up := path[len(path)-1].f
			t.low[up] = min(t.low[up], t.low[f])
		}
		if t.low[f] == t.index[f] {
			t.leave(f)
		}
	}
}

func (t *tarjan) enter(f uint32) {
	t.count++
	t.index[f], t.low[f] = t.count, t.count
	t.on[f] = true
	t.stack = append(t.stack, f)
}

// leave takes the component whose first node is f off the stack.
func (t *tarjan) leave(f uint32) {
	at := len(t.stack) - 1
	for t.stack[at] != f {
		at--
	}
	for _, x := range t.stack[at:] {
		t.on[x] = false
	}
	t.found = append(t.found, slices.Clone(t.stack[at:]))
	t.stack = t.stack[:at]
}

// directCycle is a function of the group that calls itself, else the shortest cycle through its first one.
func directCycle(next [][]uint32, group []uint32) []uint32 {
	if i := slices.IndexFunc(group, func(f uint32) bool { return slices.Contains(next[f], f) }); i >= 0 {
		return group[i : i+1]
	}
	return shortest(next, group, group[0])
}

// shortest is the shortest cycle through one node of a group.
func shortest(next [][]uint32, group []uint32, through uint32) []uint32 {
	in := map[uint32]bool{}
	for _, f := range group {
		in[f] = true
	}
	from := map[uint32]uint32{}
	for queue := []uint32{through}; len(queue) > 0; queue = queue[1:] {
		f := queue[0]
		for _, to := range next[f] {
			if to == through {
				return trail(from, f, through)
			}
			if _, seen := from[to]; !seen && in[to] {
				from[to] = f
				queue = append(queue, to)
			}
		}
	}
	return group // not reached: a group is strongly connected
}

// trail is the way that was taken from first to last.
func trail(from map[uint32]uint32, last, first uint32) []uint32 {
	way := []uint32{last}
	for last != first {
		last = from[last]
		way = append(way, last)
	}
	slices.Reverse(way)
	return way
}
