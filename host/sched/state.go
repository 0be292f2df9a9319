package sched

type coreState struct{}
