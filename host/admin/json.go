package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
)

const (
	jsonLimit = 64 << 10 // bytes of a body
	jsonDepth = 8        // of objects and lists in one another
)

var jsonTypes = []string{fiber.MIMEApplicationJSON}

// readJSON decodes a body that must be one JSON object, and mean the same to every reader of JSON.
func readJSON(c *fiber.Ctx, into any) error {
	data, err := readBody(c, jsonLimit, jsonTypes)
	if err != nil {
		return err
	}
	if err := decodeStrictly(data, into); err != nil {
		return problem(http.StatusBadRequest, CodeBadBody, "the body is not what it must be: "+err.Error())
	}
	return nil
}

// decodeStrictly takes one object and nothing behind it, with no key twice and none unknown, not too deep, in UTF-8.
func decodeStrictly(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	if err := checkKeys(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// level is one object or list that is not closed yet.
type level struct {
	keys map[string]bool // nil in a list
	key  bool            // a key comes next
}

// checkKeys walks through the tokens of one object.
func checkKeys(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var open []level
	for first := true; ; first = false {
		tok, err := dec.Token()
		switch {
		case err == io.EOF && !first:
			return nil
		case err != nil:
			return err
		case first && tok != json.Delim('{'):
			return errors.New("not an object")
		case !first && len(open) == 0:
			return errors.New("something stands behind the object")
		}
		if open, err = step(open, tok); err != nil {
			return err
		}
	}
}

// step takes one token. The decoder has checked the grammar.
func step(open []level, tok json.Token) ([]level, error) {
	switch tok {
	case json.Delim('}'), json.Delim(']'):
		return open[:len(open)-1], nil
	}
	if n := len(open); n > 0 && open[n-1].keys != nil {
		top := &open[n-1]
		if top.key {
			name := tok.(string)
			fold := strings.ToLower(strings.ToUpper(name)) // as the decoder does: "On" sets what "on" sets
			if top.keys[fold] {
				return nil, fmt.Errorf("key %q is there twice", name)
			}
			top.keys[fold] = true
		}
		top.key = !top.key
	}
	switch tok {
	case json.Delim('{'):
		open = append(open, level{map[string]bool{}, true})
	case json.Delim('['):
		open = append(open, level{})
	}
	if len(open) > jsonDepth {
		return nil, fmt.Errorf("deeper than %d", jsonDepth)
	}
	return open, nil
}
