package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Load merges the file at path ("" = none), the environment and the flags, which are given as key -> text for the keys
// that were set, and validates the result.
func Load(path string, env func(string) (string, bool), flags map[string]string) (*Config, error) {
	c := Default()
	c.origins = map[string]string{}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		if err := c.readFile(path, data); err != nil {
			return nil, err
		}
	}
	if err := c.readEnv(env); err != nil {
		return nil, err
	}
	for _, f := range fields(&c) {
		if text, ok := flags[f.key]; ok {
			if err := c.set(f, text, "--"+flagName(f.key)); err != nil {
				return nil, err
			}
		}
	}
	return &c, c.Validate()
}

// flagAlias lists the flags whose names do not follow from the key.
var flagAlias = map[string]string{"speculate.drafter": "drafter", "speculate.model": "draft-model"}

// flagName is the flag that stands for a key.
func flagName(key string) string {
	if name, ok := flagAlias[key]; ok {
		return name
	}
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimSuffix(key, ".listen"), "compute."), "_", "-")
}

// readFile decodes the file over the defaults. Errors carry FILE:LINE:COLUMN.
func (c *Config) readFile(name string, data []byte) (err error) {
	// The library dereferences nil on some malformed documents (a tag without a value, for one).
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: not a YAML document that can be read (%v)", name, p)
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return fileError(name, err)
	}
	switch {
	case len(file.Docs) > 1:
		return fmt.Errorf("%s:%d: a second YAML document begins here; keep one", name, file.Docs[1].Start.Position.Line)
	case len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.CommentType:
		return nil // nothing but comments
	}
	if err := yaml.UnmarshalWithOptions(data, c, yaml.Strict()); err != nil {
		return fileError(name, err)
	}
	c.locate(name, "", file.Docs[0].Body)
	_, c.shipped = c.origins["policies"]
	c.shipped = !c.shipped
	return nil
}

// locate notes the line of each key, so that a wrong value can be reported where it stands.
func (c *Config) locate(name, prefix string, n ast.Node) {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			c.locate(name, prefix, v)
		}
	case *ast.MappingValueNode:
		key := prefix + n.Key.String()
		c.origins[key] = fmt.Sprintf("%s:%d", name, n.Key.GetToken().Position.Line)
		c.locate(name, key+".", n.Value)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			key := fmt.Sprintf("%s[%d]", strings.TrimSuffix(prefix, "."), i)
			c.origins[key] = fmt.Sprintf("%s:%d", name, v.GetToken().Position.Line)
			c.locate(name, key+".", v)
		}
	}
}

// envAlias lists the variables whose names do not follow from the key.
var envAlias = map[string]string{"admin.listen": "SLUICE_ADMIN"}

func (c *Config) readEnv(env func(string) (string, bool)) error {
	for _, f := range fields(c) {
		names := []string{"SLUICE_" + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))}
		if alias, ok := envAlias[f.key]; ok {
			names = append(names, alias)
		}
		for _, name := range names {
			text, ok := env(name)
			if !ok || text == "" {
				continue
			}
			if err := c.set(f, text, "$"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// field is one scalar of a Config.
type field struct {
	key string
	v   reflect.Value
}

// fields lists the scalars of c by key, in the order of the struct.
func fields(c *Config) []field {
	var out []field
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag.Get("yaml")
			switch f := v.Field(i); {
			case tag == "" || f.Kind() == reflect.Slice || f.Kind() == reflect.Map:
			case f.Kind() == reflect.Struct:
				walk(prefix+tag+".", f)
			default:
				out = append(out, field{prefix + tag, f})
			}
		}
	}
	walk("", reflect.ValueOf(c).Elem())
	return out
}

// set gives a scalar the value that text spells.
func (c *Config) set(f field, text, origin string) error {
	if f.v.Kind() == reflect.String {
		f.v.SetString(text)
	} else if err := yaml.Unmarshal([]byte(text), f.v.Addr().Interface()); err != nil {
		return fmt.Errorf("%s: %s cannot be %q", origin, f.key, text)
	}
	c.origins[f.key] = origin
	return nil
}
