package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Codes of refused bodies.
const (
	codeJSON    = "invalid_json"
	codeType    = "invalid_type"
	codeValue   = "invalid_value"
	codeMissing = "missing_field"
	codeRefused = "unsupported_parameter"
	codeContext = "context_length_exceeded"
)

// decodeBody reads a JSON object. Every error is an *apiError that says where.
func decodeBody(body []byte, into any) error {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 {
		return badRequest("", codeJSON, "the body is empty; send a JSON object")
	}
	if i := invalidUTF8(body); i >= 0 {
		return badRequest("", codeJSON, "the body is not UTF-8 at byte %d", i)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return decodeError(err)
	}
	if trimmed[0] != '{' { // null decodes into anything
		return badRequest("", codeType, "the body must be a JSON object")
	}
	return nil
}

func decodeError(err error) *apiError {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return badRequest("", codeJSON, "the body is not JSON at byte %d: %v", syntax.Offset, syntax)
	case errors.As(err, &typ):
		param := fieldName(typ.Field)
		if param == "" {
			return badRequest("", codeType, "the body must be a JSON object, but is %s", typ.Value)
		}
		want, number := wanted(typ.Type), strings.HasPrefix(typ.Value, "number ")
		switch holds := holding[param]; {
		case holds != "" && typ.Type.Kind() != reflect.Slice && typ.Type.Kind() != reflect.Map:
			return badRequest(param, codeType, "%s must hold %s, but holds %s (byte %d)", param, holds, typ.Value, typ.Offset)
		case number && want == "an integer" || number && want == "a number":
			return badRequest(param, codeType, "%s must be %s of 64 bits, but is the %s (byte %d)", param, want, typ.Value, typ.Offset)
		}
		return badRequest(param, codeType, "%s must be %s, but is %s (byte %d)", param, want, typ.Value, typ.Offset)
	}
	return badRequest("", codeJSON, "the body is not JSON: %v", err)
}

// holding are the fields whose elements have a type of their own. The decoder names the field when it means an element.
var holding = map[string]string{"messages": "objects", "logit_bias": "numbers"}

// fieldName takes the names of embedded structs, which the client knows nothing of, off a field's path.
func fieldName(path string) string {
	path = strings.TrimPrefix(path, "common.")
	return strings.TrimPrefix(path, "refused.")
}

// decodeField reads one value whose form depends on itself.
func decodeField(param string, raw json.RawMessage, into any, want string) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return badRequest(param, codeType, "%s must be %s", param, want)
	}
	return nil
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return fmt.Sprintf("of type %v", t)
}

func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// present tells whether a client gave a field a value.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// checkText refuses what the tokenizer cannot take.
func checkText(param, text string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return badRequest(param, codeValue, "%s holds a NUL character at byte %d", param, i)
	}
	return nil
}
