package module

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/plugins/meter"
)

// Recursion is what the call graph says about functions that call themselves. Fuel ends a recursion that runs away; one
// that a long queue makes deep costs the decision.
type Recursion struct {
	Cycles  []Cycle `json:"cycles"`
	Unknown string  `json:"unknown,omitempty"` // why not all of it is known
}

// Cycle is functions each of which may call the next, and the last the first.
type Cycle struct {
	Functions []string `json:"functions"`
	Group     int      `json:"group"`         // so many functions may call each other around it
	Table     bool     `json:"through_table"` // a call goes through a table: it may reach any function of its type
}

// String is f > g > f.
func (c *Cycle) String() string {
	return strings.Join(append(c.Functions[:len(c.Functions):len(c.Functions)], c.Functions[0]), " > ")
}

// vague is the size of a group from which on a cycle through a table says nothing.
const vague = 32

// recursion leaves the language's own library out.
func recursion(d *meter.Description, lang string) Recursion {
	r := Recursion{Cycles: []Cycle{}}
	named := 0
	for _, f := range d.Functions[d.Imported:] {
		if f.Name != "" {
			named++
		}
	}
	if slices.Contains([]string{langGo, langRust, langAssemblyScript}, lang) && named < len(d.Functions)/2 {
		r.Unknown = "its functions have no names, so that they cannot be told from its language's library: build without stripping them"
		return r
	}
	cycles := d.Recursion(func(_ int, f *meter.Function) bool { return library(lang, f.Name) })
	for _, c := range cycles {
		switch {
		case c.Table && lang == langGo:
			r.Unknown = "calls through interfaces and closures are not followed: to Go's compiler all functions have one type"
			continue
		case c.Table && c.Group > vague:
			r.Unknown = fmt.Sprintf("%d functions may call each other through tables, which is too many to say anything", c.Group)
			continue
		}
		out := Cycle{Group: c.Group, Table: c.Table}
		for _, f := range c.Functions {
			out.Functions = append(out.Functions, nameOf(d, f))
		}
		r.Cycles = append(r.Cycles, out)
	}
	return r
}

func nameOf(d *meter.Description, f uint32) string {
	if name := d.Functions[f].Name; name != "" {
		return name
	}
	return fmt.Sprintf("function %d", f)
}

// rustCrate finds the first crate in a mangled name of either scheme: behind its length, or, in the older one where a trait
// is implemented for a type, before two dots.
var rustCrate = regexp.MustCompile(`^_ZN(\d+)([a-z]\w*)|^_ZN\d+_\$LT\$.*?()\b([a-z_]+)\.\.|^_R.*?C(?:s[0-9A-Za-z]*_)?(\d+)([a-z]\w*)`)

var rustLibraries = []string{"core", "alloc", "std", "compiler_builtins", "dlmalloc", "hashbrown"}

// rustLibrary reports whether a mangled name is of a crate that every program has.
func rustLibrary(name string) bool {
	m := rustCrate.FindStringSubmatch(name)
	if m == nil {
		return strings.HasPrefix(strings.TrimLeft(name, "_"), "rust_")
	}
	crate := m[2] + m[4] + m[6]
	if n, err := strconv.Atoi(m[1] + m[5]); err == nil && n < len(crate) {
		crate = crate[:n]
	}
	return slices.Contains(rustLibraries, crate)
}

// library reports whether a function is of a language's own library by its name.
func library(lang, name string) bool {
	switch lang {
	case langGo: // packages of the standard library have no dot in their path
		pkg, _, _ := strings.Cut(name, ".")
		path, _, domain := strings.Cut(name, "_")
		return pkg != "main" && !(domain && strings.Contains(path, "."))
	case langRust:
		return rustLibrary(name)
	case langAssemblyScript:
		return strings.HasPrefix(name, "~lib/")
	}
	return false
}
