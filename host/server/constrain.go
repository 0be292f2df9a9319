package server

import (
	"encoding/json"
	"errors"

	"github.com/sluice-dev/sluice/host/grammar"
)

// responseFormat is what OpenAI's clients ask for: text, json_object, or json_schema with a schema.
type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// constrain reads the grammar that the answer must follow, from response_format or from grammar.
func (f *common) constrain(k *call) error {
	src, param, err := f.grammarSource()
	if err != nil || src == "" {
		return err
	}
	g, err := grammar.Parse(src)
	if err != nil {
		return badRequest(param, codeValue, "%s: %v", param, err)
	}
	k.grammar = g
	return nil
}

// grammarSource returns GBNF, "" when all may be written, and the field that asked for it.
func (f *common) grammarSource() (src, param string, err error) {
	format := responseFormat{Type: "text"}
	if present(f.ResponseFormat) {
		if err := decodeField("response_format", f.ResponseFormat, &format, "an object with type, and json_schema where that is the type"); err != nil {
			return "", "", err
		}
	}
	if f.Grammar != "" && format.Type != "text" {
		return "", "", badRequest("grammar", codeValue, "grammar and response_format exclude each other")
	}
	switch format.Type {
	case "text":
		return f.Grammar, "grammar", nil
	case "json_object":
		return grammar.JSON, "response_format", nil
	case "json_schema":
		src, err := format.schema()
		return src, "response_format", err
	}
	return "", "", badRequest("response_format.type", codeValue, "response_format.type must be text, json_object or json_schema, but is %.40q", format.Type)
}

func (f *responseFormat) schema() (string, error) {
	const param = "response_format.json_schema.schema"
	if f.JSONSchema == nil || !present(f.JSONSchema.Schema) {
		return "", badRequest(param, codeMissing, "%s is missing", param)
	}
	src, err := grammar.Schema(f.JSONSchema.Schema)
	var e *grammar.SchemaError
	if errors.As(err, &e) {
		return "", badRequest(param, "unsupported_schema", "the schema cannot be honoured: %v", e)
	}
	return src, err
}

// vocab sorts the model's tokens for grammars, when the first one comes.
func (s *Server) vocabulary() *grammar.Vocab {
	s.vocabOnce.Do(func() { s.vocab = grammar.NewVocab(s.cfg.Tokenizer, s.cfg.Info.VocabSize) })
	return s.vocab
}
