package sched

// SingleStep is what a step with one row is believed to take, in ns; 0 = not known.
func (c *Core) SingleStep() int64 { return c.singleStep() }
