package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/sluice-dev/sluice/host/server/servertest"
)

// client is the official one in its default settings; sent counts its requests.
func client(s *servertest.Server, sent *atomic.Int64) openai.Client {
	return openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("k"),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			sent.Add(1)
			return next(r)
		}))
}

func question(s *servertest.Server, tokens int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: s.Info.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Why is the sky blue?")},
		MaxCompletionTokens: openai.Int(tokens), StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

// readStream returns text, finish reason and tokens, and how the stream ended.
func readStream(stream *ssestream.Stream[openai.ChatCompletionChunk]) (text, finish string, tokens int64, err error) {
	defer stream.Close()
	for stream.Next() {
		c := stream.Current()
		for _, choice := range c.Choices {
			text += choice.Delta.Content
			if choice.FinishReason != "" {
				finish = choice.FinishReason
			}
		}
		tokens = c.Usage.CompletionTokens
	}
	return text, finish, tokens, stream.Err()
}

func TestGoStreamAndWhole(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *servertest.Server{
		"simulated": plain,
		"model":     func(t *testing.T) *servertest.Server { return servertest.StartModel(t, servertest.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			var sent atomic.Int64
			c := client(s, &sent)
			whole, err := c.Chat.Completions.New(t.Context(), question(s, 12))
			if err != nil {
				t.Fatal(err)
			}
			text, finish, tokens, err := readStream(c.Chat.Completions.NewStreaming(t.Context(), question(s, 12)))
			choice := whole.Choices[0]
			if err != nil || text != choice.Message.Content || finish != choice.FinishReason || tokens != whole.Usage.CompletionTokens || text == "" {
				t.Errorf("streamed %q (%s, %d tokens, %v), whole %q (%s, %d tokens)",
					text, finish, tokens, err, choice.Message.Content, choice.FinishReason, whole.Usage.CompletionTokens)
			}
			done, err := c.Completions.New(t.Context(), openai.CompletionNewParams{
				Model: openai.CompletionNewParamsModel(s.Info.Model), Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon a time")}, MaxTokens: openai.Int(5),
			})
			if err != nil || done.Choices[0].Text == "" || done.Usage.CompletionTokens != 5 {
				t.Errorf("completion: %+v, %v", done, err)
			}
			models, err := c.Models.List(t.Context())
			if err != nil || len(models.Data) != 1 || models.Data[0].ID != s.Info.Model {
				t.Errorf("models: %+v, %v", models, err)
			}
			if m, err := c.Models.Get(t.Context(), s.Info.Model); err != nil || m.ID != s.Info.Model {
				t.Errorf("model: %+v, %v", m, err)
			}
		})
	}
}

func TestGoComesAgainWhenToldTo(t *testing.T) {
	for _, status := range []uint16{429, 503, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := refusing(t, status)
			var sent atomic.Int64
			c := client(s, &sent)
			if _, _, tokens, err := readStream(c.Chat.Completions.NewStreaming(t.Context(), question(s, 4))); err != nil || tokens == 0 {
				t.Errorf("%d tokens, %v", tokens, err)
			}
			if sent.Load() != 2 {
				t.Errorf("%d requests", sent.Load())
			}
			checkRetried(t, s)
		})
	}
}

func TestGoStaysAwayWhenToldTo(t *testing.T) {
	s := draining(t)
	var sent atomic.Int64
	c := client(s, &sent)
	_, err := c.Chat.Completions.New(t.Context(), question(s, 4))
	checkAPIError(t, err, 503, "draining", "")
	if sent.Load() != 1 {
		t.Errorf("%d requests to a server that said it was no use", sent.Load())
	}
}

func checkAPIError(t *testing.T, err error, status int, code, param string) {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an API error: %v", err)
	}
	if e.StatusCode != status || e.Code != code || e.Param != param || e.Message == "" || e.Type == "" {
		t.Errorf("got %d %q %q %q %q, want %d %q %q", e.StatusCode, e.Code, e.Param, e.Type, e.Message, status, code, param)
	}
}

func TestGoSeesTheErrorInAStream(t *testing.T) {
	s := failing(t)
	var sent atomic.Int64
	c := client(s, &sent)
	text, finish, _, err := readStream(c.Chat.Completions.NewStreaming(t.Context(), question(s, 200)))
	var e *ssestream.StreamError
	if !errors.As(err, &e) || !strings.Contains(string(e.Event.Data), `"code":"device_failed"`) || text == "" || finish != "" {
		t.Errorf("text %q, finish %q, error %v", text, finish, err)
	}
	if sent.Load() != 1 {
		t.Errorf("%d requests: a stream that began must not be repeated", sent.Load())
	}
}

func TestGoSeesItsOwnMistakes(t *testing.T) {
	s := plain(t)
	var sent atomic.Int64
	c := client(s, &sent)
	q := question(s, 4)
	q.Model = "gpt-unknown"
	_, err := c.Chat.Completions.New(t.Context(), q)
	checkAPIError(t, err, 404, "model_not_found", "model")
	q = question(s, 4)
	q.Temperature = openai.Float(5)
	_, err = c.Chat.Completions.New(t.Context(), q)
	checkAPIError(t, err, 400, "invalid_value", "temperature")
	_, err = c.Chat.Completions.New(t.Context(), question(s, 100_000))
	checkAPIError(t, err, 400, "context_length_exceeded", "max_completion_tokens")
	_, err = c.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "m", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("x")}})
	checkAPIError(t, err, 404, "unknown_route", "")
	if sent.Load() != 4 {
		t.Errorf("%d requests for 4 mistakes", sent.Load())
	}
}

// A program that loses interest frees its place.
func TestGoCancels(t *testing.T) {
	s := servertest.StartModel(t, servertest.Options{})
	var sent atomic.Int64
	c := client(s, &sent)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := c.Chat.Completions.NewStreaming(ctx, question(s, 1000))
	defer stream.Close()
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	cancel()
	s.Await(t, "freed the place", servertest.Idle)
}

// Several choices, streamed and whole, with the same seeds.
func TestGoChoices(t *testing.T) {
	s := plain(t)
	var sent atomic.Int64
	c := client(s, &sent)
	q := question(s, 8)
	q.N, q.Temperature, q.Seed = openai.Int(3), openai.Float(1), openai.Int(5)
	whole, err := c.Chat.Completions.New(t.Context(), q)
	if err != nil || len(whole.Choices) != 3 {
		t.Fatalf("%+v, %v", whole, err)
	}
	texts := make([]string, 3)
	stream := c.Chat.Completions.NewStreaming(t.Context(), q)
	defer stream.Close()
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			texts[choice.Index] += choice.Delta.Content
		}
	}
	for i, choice := range whole.Choices {
		if texts[i] != choice.Message.Content || stream.Err() != nil {
			t.Errorf("choice %d: streamed %q, whole %q, %v", i, texts[i], choice.Message.Content, stream.Err())
		}
	}
}

// Log probabilities, a stop string and a schema as the client's own types have them.
func TestGoLogprobsStopAndSchema(t *testing.T) {
	s := plain(t)
	var sent atomic.Int64
	c := client(s, &sent)
	q := question(s, 8)
	q.Logprobs, q.TopLogprobs = openai.Bool(true), openai.Int(2)
	whole, err := c.Chat.Completions.New(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range whole.Choices[0].Logprobs.Content {
		if p.Logprob > 0 || len(p.TopLogprobs) != 2 || p.TopLogprobs[0].Token != p.Token {
			t.Errorf("%+v", p)
		}
	}
	if n := len(whole.Choices[0].Logprobs.Content); int64(n) != whole.Usage.CompletionTokens {
		t.Errorf("log probabilities of %d tokens of %d", n, whole.Usage.CompletionTokens)
	}
	text := whole.Choices[0].Message.Content
	q = question(s, 8)
	q.Stop.OfStringArray = []string{text[2:4]}
	cut, err := c.Chat.Completions.New(t.Context(), q)
	want, _, _ := strings.Cut(text, text[2:4])
	if err != nil || cut.Choices[0].Message.Content != want || cut.Choices[0].FinishReason != "stop" {
		t.Errorf("%+v, %v, want %q", cut, err, want)
	}
	q = question(s, 100)
	q.ResponseFormat.OfJSONSchema = &openai.ResponseFormatJSONSchemaParam{JSONSchema: openai.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "s", Strict: openai.Bool(true), Schema: map[string]any{
			"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}, "required": []string{"ok"}, "additionalProperties": false,
		},
	}}
	answer, err := c.Chat.Completions.New(t.Context(), q)
	var v struct{ OK *bool }
	if err != nil || json.Unmarshal([]byte(answer.Choices[0].Message.Content), &v) != nil || v.OK == nil {
		t.Errorf("%+v, %v", answer, err)
	}
}
