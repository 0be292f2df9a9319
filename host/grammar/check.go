package grammar

import "fmt"

// check refuses rules that would be followed without end: those that begin with themselves, and those that never end.
func (c *compiler) check() *Error {
	empty := c.fixpoint(c.empty)
	ends := c.fixpoint(c.ends)
	for i, r := range c.rules {
		if !ends[i] {
			return &Error{r.line, fmt.Sprintf("no text of rule %s ever ends", r.name)}
		}
	}
	state := make([]uint8, len(c.rules)) // 0 = new, 1 = on the way, 2 = done
	var visit func(i int32) *Error
	visit = func(i int32) (err *Error) {
		switch state[i] {
		case 1:
			return &Error{c.rules[i].line, fmt.Sprintf("rule %s begins with itself", c.rules[i].name)}
		case 2:
			return nil
		}
		state[i] = 1
		c.first(c.rules[i].body, empty, func(next int32) {
			if err == nil {
				err = visit(next)
			}
		})
		state[i] = 2
		return err
	}
	for i := range c.rules {
		if err := visit(int32(i)); err != nil {
			return err
		}
	}
	return nil
}

// fixpoint applies holds to all rules until no more of them do.
func (c *compiler) fixpoint(holds func(e expr, known []bool) bool) []bool {
	known := make([]bool, len(c.rules))
	for changed := true; changed; {
		changed = false
		for i, r := range c.rules {
			if !known[i] && holds(r.body, known) {
				known[i], changed = true, true
			}
		}
	}
	return known
}

// empty tells whether e has the text of no characters.
func (c *compiler) empty(e expr, known []bool) bool {
	switch e := e.(type) {
	case literal:
		return e == ""
	case ref:
		return known[c.index[string(e)]]
	case seq:
		return all(e, func(x expr) bool { return c.empty(x, known) })
	case alt:
		return !all(e, func(x expr) bool { return !c.empty(x, known) })
	case repeat:
		return e.min == 0 || c.empty(e.what, known)
	}
	return false
}

// ends tells whether e has a text at all.
func (c *compiler) ends(e expr, known []bool) bool {
	switch e := e.(type) {
	case ref:
		return known[c.index[string(e)]]
	case seq:
		return all(e, func(x expr) bool { return c.ends(x, known) })
	case alt:
		return !all(e, func(x expr) bool { return !c.ends(x, known) })
	case repeat:
		return e.min == 0 || c.ends(e.what, known)
	}
	return true
}

func all(list []expr, holds func(expr) bool) bool {
	for _, e := range list {
		if !holds(e) {
			return false
		}
	}
	return true
}

// first calls f for each rule that e may begin with.
func (c *compiler) first(e expr, empty []bool, f func(rule int32)) {
	switch e := e.(type) {
	case ref:
		f(c.index[string(e)])
	case seq:
		for _, x := range e {
			c.first(x, empty, f)
			if !c.empty(x, empty) {
				return
			}
		}
	case alt:
		for _, x := range e {
			c.first(x, empty, f)
		}
	case repeat:
		c.first(e.what, empty, f)
	}
}
