package server

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// refused are the fields that are known and cannot be honoured: each is a 400 unless it holds null or one of the values
// in its tag ok, which ask for nothing. Silence would be a wrong answer.
type refused struct {
	Tools             json.RawMessage `json:"tools" ok:"[]"`
	ToolChoice        json.RawMessage `json:"tool_choice" ok:"\"none\" \"auto\""`
	Functions         json.RawMessage `json:"functions" ok:"[]"`
	FunctionCall      json.RawMessage `json:"function_call" ok:"\"none\" \"auto\""`
	StructuredOutputs json.RawMessage `json:"structured_outputs" ok:"{}"`
	GuidedJSON        json.RawMessage `json:"guided_json"`
	GuidedRegex       json.RawMessage `json:"guided_regex"`
	GuidedChoice      json.RawMessage `json:"guided_choice"`
	GuidedGrammar     json.RawMessage `json:"guided_grammar"`
	PromptLogprobs    json.RawMessage `json:"prompt_logprobs"`
	Echo              json.RawMessage `json:"echo" ok:"false"`
	Suffix            json.RawMessage `json:"suffix" ok:"\"\""`
	BestOf            json.RawMessage `json:"best_of" ok:"1"`
	BeamSearch        json.RawMessage `json:"use_beam_search" ok:"false"`
	MinTokens         json.RawMessage `json:"min_tokens" ok:"0"`
	StopTokenIDs      json.RawMessage `json:"stop_token_ids" ok:"[]"`
	IncludeStop       json.RawMessage `json:"include_stop_str_in_output" ok:"false"`
	SkipSpecial       json.RawMessage `json:"skip_special_tokens" ok:"true"`
	BadWords          json.RawMessage `json:"bad_words" ok:"[]"`
	AllowedTokens     json.RawMessage `json:"allowed_token_ids"`
	Truncate          json.RawMessage `json:"truncate_prompt_tokens"`
	PromptEmbeds      json.RawMessage `json:"prompt_embeds"`
	ReturnTokenIDs    json.RawMessage `json:"return_token_ids" ok:"false"`
	Audio             json.RawMessage `json:"audio"`
	Modalities        json.RawMessage `json:"modalities" ok:"[\"text\"]"`
	Prediction        json.RawMessage `json:"prediction"`
	WebSearch         json.RawMessage `json:"web_search_options"`
	ChatTemplate      json.RawMessage `json:"chat_template"`
	TemplateArgs      json.RawMessage `json:"chat_template_kwargs" ok:"{}"`
	Documents         json.RawMessage `json:"documents" ok:"[]"`
	ContinueFinal     json.RawMessage `json:"continue_final_message" ok:"false"`
	GenerationPrompt  json.RawMessage `json:"add_generation_prompt" ok:"true"`
}

type refusedField struct {
	name string
	ok   []string
}

var refusedFields = func() []refusedField {
	t := reflect.TypeFor[refused]()
	fields := make([]refusedField, t.NumField())
	for i := range fields {
		tag := t.Field(i).Tag
		fields[i] = refusedField{tag.Get("json"), strings.Fields(tag.Get("ok"))}
	}
	return fields
}()

// check reports the first field that asks for something.
func (r *refused) check() error {
	v := reflect.ValueOf(r).Elem()
	for i, f := range refusedFields {
		raw := v.Field(i).Bytes()
		if !present(raw) {
			continue
		}
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil && slices.Contains(f.ok, compact.String()) {
			continue
		}
		return badRequest(f.name, codeRefused, "%s with this value is not supported by this server; leave it out", f.name)
	}
	return nil
}
