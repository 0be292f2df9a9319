package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/builtins"
	gonja "github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/sluice-dev/sluice/gpu"
)

// ErrNoTemplate says that a model cannot chat.
var ErrNoTemplate = errors.New("the model has no chat template")

// message is one turn of a conversation.
type message struct {
	role, content string
}

// segment is a part of a rendered prompt. What the client wrote never becomes a special token, whatever it spells.
type segment struct {
	text   string
	client bool
}

// chatTemplate renders conversations with the model's own Jinja template. It may be used from any goroutine.
type chatTemplate struct {
	tmpl     *exec.Template
	bos, eos string
	err      error // why there is none
}

// The contents of messages are not given to the template but stand-ins for them, cut out of what it renders. Only
// letters and digits, so that filters leave them alone. A template that holds standIn itself is refused.
const (
	standIn    = "Sq7xSluiceContent"
	standInEnd = "Zx"
)

func newChatTemplate(tok gpu.Tokenizer) chatTemplate {
	source, bos, eos := tok.ChatTemplate()
	t := chatTemplate{bos: bos, eos: eos}
	if source == "" {
		t.err = ErrNoTemplate
		return t
	}
	if strings.Contains(source, standIn) {
		t.err = fmt.Errorf("parse chat template: it holds the reserved word %s", standIn)
		return t
	}
	if t.tmpl, t.err = parseTemplate(source); t.err != nil {
		return t
	}
	if _, err := t.render([]message{{"user", "hello"}}, true); err != nil {
		t.err = fmt.Errorf("try chat template: %w", err)
	}
	return t
}

func parseTemplate(source string) (tmpl *exec.Template, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parse chat template: panic: %v", p)
		}
	}()
	cfg := gonja.New()
	cfg.TrimBlocks, cfg.LeftStripBlocks = true, true // as the templates' authors' renderer has it
	// A loader with nothing else in it: a model's template must not read files.
	loader, err := loaders.NewMemoryLoader(map[string]string{"/chat": inlineConditions(source)})
	if err != nil {
		return nil, fmt.Errorf("parse chat template: %w", err)
	}
	env := &exec.Environment{
		Context: exec.EmptyContext().Update(builtins.GlobalFunctions).Update(builtins.GlobalVariables),
		Filters: builtins.Filters, Tests: builtins.Tests, ControlStructures: statements(), Methods: builtins.Methods,
	}
	if tmpl, err = exec.NewTemplate("/chat", cfg, loader, env); err != nil {
		return nil, fmt.Errorf("parse chat template: %w", err)
	}
	return tmpl, nil
}

// statements are those of one file: a template that includes others, or itself, is refused.
func statements() *exec.ControlStructureSet {
	set := exec.NewControlStructureSet(map[string]parser.ControlStructureParser{})
	for _, name := range []string{
		"autoescape", "block", "break", "call", "continue", "do", "filter", "for", "if", "macro", "raw", "set", "with",
	} {
		if p, ok := builtins.ControlStructures.Get(name); ok {
			_ = set.Register(name, p)
		}
	}
	return set
}

// raised is what a template says with raise_exception.
type raised struct{ message string }

func (r *raised) Error() string { return r.message }

// render returns the prompt in parts. A *raised error is the template's own complaint about the messages.
func (t *chatTemplate) render(messages []message, generate bool) (parts []segment, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("render chat template: panic: %v", p)
		}
	}()
	var complaint *raised
	turns := make([]any, len(messages))
	for i, m := range messages {
		turns[i] = map[string]any{"role": m.role, "content": disguise(m.content, i)}
	}
	text, err := t.tmpl.ExecuteToString(exec.NewContext(map[string]any{
		"messages": turns, "add_generation_prompt": generate, "bos_token": t.bos, "eos_token": t.eos,
		"tools": nil, "documents": nil, chooseName: choose,
		"raise_exception": func(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
			complaint = &raised{args.First().String()}
			return "", complaint
		},
		"strftime_now": func(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
			return strftime(time.Now(), args.First().String()), nil
		},
	}))
	if complaint != nil {
		return nil, complaint
	}
	if err != nil {
		return nil, fmt.Errorf("render chat template: %w", err)
	}
	return reveal(text, messages)
}

// disguise is the stand-in for a content. Space around it stays, since templates trim, and so does nothing but space,
// since they test for emptiness.
func disguise(content string, i int) string {
	lead, core, trail := splitSpace(content)
	if core == "" {
		return content
	}
	return lead + standIn + strconv.Itoa(i) + standInEnd + trail
}

const space = " \t\r\n\v\f"

func splitSpace(s string) (lead, core, trail string) {
	core = strings.TrimLeft(s, space)
	lead = s[:len(s)-len(core)]
	core = strings.TrimRight(core, space)
	return lead, core, s[len(lead)+len(core):]
}

// reveal puts the contents back in.
func reveal(text string, messages []message) ([]segment, error) {
	var parts []segment
	for {
		before, rest, found := strings.Cut(text, standIn)
		if !found {
			return appendPart(parts, text, false), nil
		}
		number, after, ended := strings.Cut(rest, standInEnd)
		i, err := strconv.Atoi(number)
		if !ended || err != nil || i < 0 || i >= len(messages) {
			return nil, fmt.Errorf("render chat template: it cuts or changes the contents of messages, which is not supported")
		}
		lead, core, trail := splitSpace(messages[i].content)
		// Space that the template kept belongs to the content, and is tokenized with it.
		if before, found = strings.CutSuffix(before, lead); !found {
			lead = ""
		}
		if after, found = strings.CutPrefix(after, trail); !found {
			trail = ""
		}
		parts = appendPart(parts, before, false)
		parts = appendPart(parts, lead+core+trail, true)
		text = after
	}
}

func appendPart(parts []segment, text string, client bool) []segment {
	if text == "" {
		return parts
	}
	return append(parts, segment{text, client})
}
