package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/sluice-dev/sluice/cmd/sluice/spelling"
)

// fileError turns a decoder's error into one line: FILE:LINE:COLUMN, what is wrong, and what may have been meant.
func fileError(name string, err error) error {
	var ye yaml.Error
	if !errors.As(err, &ye) || ye.GetToken() == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	tok := ye.GetToken()
	at := fmt.Sprintf("%s:%d:%d", name, tok.Position.Line, tok.Position.Column)
	var unknown *yaml.UnknownFieldError
	var typ *yaml.TypeError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%s: unknown key %q%s", at, tok.Value, suggest(tok.Value))
	case errors.As(err, &typ):
		return fmt.Errorf("%s: %q cannot be read as %s", at, tok.Value, kindName(typ.DstType))
	}
	return fmt.Errorf("%s: %s", at, ye.GetMessage())
}

// kindName says what a value should have been, in words.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a section of keys and values"
	}
	return t.String()
}

// suggest names the key that is nearest to what was written, with its section.
func suggest(key string) string {
	known := knownKeys()
	leaves := make([]string, len(known))
	for i, k := range known {
		leaves[i] = k[strings.LastIndexByte(k, '.')+1:]
	}
	i := spelling.Nearest(key, leaves)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", known[i])
}

// knownKeys lists every key of the file with its section, sections and list elements included.
func knownKeys() []string {
	var keys []string
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			tag := f.Tag.Get("yaml")
			if tag == "" {
				continue
			}
			keys = append(keys, prefix+tag)
			inner := f.Type
			if inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				walk(prefix+tag+".", inner)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
	slices.SortStableFunc(keys, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	return keys
}
