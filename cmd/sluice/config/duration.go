package config

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Duration is a time.Duration that is written like 1m30s, and whose errors know their line.
type Duration time.Duration

// String is the duration as it is written.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalYAML reads the duration.
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	text := n.String()
	if s, ok := n.(*ast.StringNode); ok {
		text = s.Value
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return &yaml.SyntaxError{Message: fmt.Sprintf("%q cannot be read as a duration like 30s", text), Token: n.GetToken()}
	}
	*d = Duration(v)
	return nil
}

var _ yaml.NodeUnmarshaler = (*Duration)(nil)
