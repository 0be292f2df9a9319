package cases

import (
	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
)

// Case is one case: a policy with a configuration, and what it is asked in turn.
type Case struct {
	File    string
	Line    int
	Name    string
	Config  map[string]string
	Refused string // the configuration is to be refused with an error that contains this; "" = it is to be taken
	Steps   []Step
}

// Step is one question and what it is to be answered with.
type Step struct {
	Line     int
	Config   map[string]string // swap the policy for itself with this configuration first; nil = do not
	Question sandbox.Question
	Expect   Expect
}

// Expect is what an answer is compared with. Zero fields are not compared.
type Expect struct {
	Line    int
	Decided *bool
	Fault   string           // the policy is to fail like this; "" = it is not to fail
	Rows    []*notation.Node // what each row's verdict or ranking is to be, or its draft tokens
	Plan    *notation.Node
	Order   []uint64 // ids of the rows that wait
	Victims []uint64 // ids of the rows that run
	Log     []string // parts of lines, in their order
}
