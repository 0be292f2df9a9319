package main

// A score is, from its high bits to its low ones: the level, the client's priority, and the age in microseconds, reversed.
const (
	ageBits      = 36 // 19 hours
	priorityBits = 16
	levelShift   = ageBits + priorityBits

	maxAge      = 1<<ageBits - 1
	maxPriority = 1<<(priorityBits-1) - 1
	minPriority = -maxPriority - 1
	minLevel    = -1024
)

// score is lower for who goes first. Priorities beyond 16 bits count as the outermost ones.
func score(level int64, priority int32, age int64) int64 {
	p := int64(min(max(priority, minPriority), maxPriority) - minPriority)
	return level<<levelShift + p<<ageBits + (maxAge - min(age/1000, maxAge))
}

// victimRank is higher for who is preempted first: by class, then the youngest. The age is in microseconds.
func victimRank(class int, age int64) int64 {
	return int64(class)<<ageBits + (maxAge - min(age/1000, maxAge))
}
