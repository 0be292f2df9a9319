package main

import (
	"cmp"
	"slices"
	"strings"
)

// prefix is how much of a struct's beginning holds the fields of a group.
type prefix struct {
	group string // in snake case
	bytes int
}

// prefixes is how much of a struct's beginning holds the fields without a group, and what groups need more than that, the
// most first.
func prefixes(st Struct) (base int, more []prefix) {
	byGroup := map[string]int{}
	for _, f := range st.Fields {
		if to := alignUp(f.Offset+f.Size, 8); f.Group == "" {
			base = max(base, to)
		} else {
			byGroup[f.Group] = max(byGroup[f.Group], to)
		}
	}
	for g, to := range byGroup {
		if to > base {
			more = append(more, prefix{g, to})
		}
	}
	slices.SortFunc(more, func(a, b prefix) int { return cmp.Or(b.bytes-a.bytes, strings.Compare(a.group, b.group)) })
	return base, more
}

// grouped reports whether the struct has fields with a group.
func grouped(st Struct) bool {
	return slices.ContainsFunc(st.Fields, func(f *Field) bool { return f.Group != "" })
}
