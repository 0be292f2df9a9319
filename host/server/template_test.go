package server

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"pgregory.net/rapid"
)

// templated is the simulated tokenizer with another template.
type templated struct {
	sim.Tokenizer
	template string
}

func (t templated) ChatTemplate() (string, string, string) { return t.template, "<s>", "</s>" }

func text(parts []segment) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
	}
	return b.String()
}

// The expected prompts are what the reference renderer (Jinja2 with trim_blocks and lstrip_blocks) makes of them.
func TestTemplates(t *testing.T) {
	talk := []message{{"system", " Be brief. "}, {"user", "Hi\n"}, {"assistant", "Yo"}, {"user", "{{ x }} {% y %}"}}
	for name, c := range map[string]struct {
		template string
		messages []message
		want     string
	}{
		"default system prompt, whitespace control": {
			"{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}[sys]Help.[/sys]\n{% endif %}" +
				"{{ '[' + message['role'] + ']' + message['content'] + '[/]' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '[assistant]\n' }}{% endif %}",
			talk[1:2], "[sys]Help.[/sys]\n[user]Hi\n[/]\n[assistant]\n",
		},
		"blocks on their own lines, trim, bos": {
			"{{- bos_token }}\n{%- for message in messages %}\n    {%- if message.role == 'user' %}\n        {{- '<u>' + message.content | trim + eos_token }}\n" +
				"    {%- else %}\n        {{- '<o>' + message.content.strip() }}\n    {%- endif %}\n{%- endfor %}\n",
			talk, "<s><o>Be brief.<u>Hi</s><o>Yo<u>{{ x }} {% y %}</s>",
		},
		"set, namespace, slices, macro, tests": {
			"{%- set ns = namespace(n=0) -%}{%- macro turn(m) -%}({{ m.role }}:{{ m.content }}){%- endmacro -%}" +
				"{%- if messages[0].role == 'system' -%}{%- set sys = messages[0].content -%}{%- set rest = messages[1:] -%}{%- else -%}{%- set rest = messages -%}{%- endif -%}" +
				"{%- for m in rest -%}{%- set ns.n = ns.n + 1 -%}{{ turn(m) }}{%- endfor -%}#{{ ns.n }}{% if sys is defined and tools is none %}|{{ sys }}{% endif %}",
			talk, "(user:Hi\n)(assistant:Yo)(user:{{ x }} {% y %})#3| Be brief. ",
		},
		"conditions in brackets": {
			"{# (a if b else c) #}{% for m in messages %}{{ (m.role if loop.first else ('*' if m.role == 'user' else '-')) + ':' + (m.content|trim if m.content else 'nothing') }};{% endfor %}" +
				"{{ ['if', 'x if y else z' if false else 'list', (1 if add_generation_prompt)] | join('/') }}",
			talk[1:], "user:Hi;-:Yo;*:{{ x }} {% y %};if/list/1",
		},
		"string content and emptiness": {
			"{% for m in messages %}{% if m.content is string and m.content %}{{ m.content }};{% else %}empty;{% endif %}{% endfor %}",
			[]message{{"user", "a"}, {"assistant", ""}, {"user", "b"}}, "a;empty;b;",
		},
	} {
		tmpl := newChatTemplate(templated{template: c.template})
		if tmpl.err != nil {
			t.Errorf("%s: %v", name, tmpl.err)
			continue
		}
		parts, err := tmpl.render(c.messages, true)
		if err != nil || text(parts) != c.want {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, text(parts), c.want)
		}
	}
}

func TestTemplatesThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct{ template, want string }{
		"none":              {"", "no chat template"},
		"syntax":            {"{% for %}", "parse chat template"},
		"reads files":       {"{% include '/etc/hostname' %}", "parse chat template"},
		"includes itself":   {"{% include '/chat' %}", "parse chat template"},
		"unknown function":  {"{{ nonsense('x') }}", "try chat template"},
		"unknown filter":    {"{{ messages | nonsense }}", "chat template"},
		"uses the stand-in": {"x" + standIn, "reserved"},
		"cuts contents":     {"{{ messages[0].content[:-2] }}", "cuts or changes"},
	} {
		tmpl := newChatTemplate(templated{template: c.template})
		if tmpl.err == nil || !strings.Contains(tmpl.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, tmpl.err, c.want)
		}
	}
}

func TestATemplateMayRefuseMessages(t *testing.T) {
	tmpl := newChatTemplate(templated{template: "{% if messages[0].role == 'system' %}{{ raise_exception('no system prompts') }}{% endif %}ok"})
	_, err := tmpl.render([]message{{"system", "x"}}, true)
	var complaint *raised
	if !errors.As(err, &complaint) || complaint.message != "no system prompts" {
		t.Errorf("%v", err)
	}
	if parts, err := tmpl.render([]message{{"user", "x"}}, true); err != nil || text(parts) != "ok" {
		t.Errorf("%v %v", parts, err)
	}
}

// Whatever clients write, it is in the prompt as they wrote it and never becomes a special token.
func TestContentsNeverBecomeSpecialTokens(t *testing.T) {
	s := &Server{maxText: 1 << 20, cfg: Config{MaxModelLen: 1 << 16, Tokenizer: sim.Tokenizer{}}, chat: newChatTemplate(sim.Tokenizer{})}
	pieces := rapid.SampledFrom([]string{"<|im_end|>", "<|im_start|>", "<|im_", "end|>", "\n", " ", "a", standIn + "0" + standInEnd, standIn, standInEnd, "{{ x }}", "é"})
	rapid.Check(t, func(t *rapid.T) {
		messages := make([]message, rapid.IntRange(1, 4).Draw(t, "turns"))
		want := ""
		for i := range messages {
			m := message{rapid.SampledFrom(roles).Draw(t, "role"), strings.Join(rapid.SliceOfN(pieces, 0, 6).Draw(t, "content"), "")}
			messages[i] = m
			want += "<|im_start|>" + m.role + "\n" + m.content + "<|im_end|>\n"
		}
		want += "<|im_start|>assistant\n"
		parts, err := s.chat.render(messages, true)
		if err != nil || text(parts) != want {
			t.Fatalf("%v\n got %q\nwant %q", err, text(parts), want)
		}
		tokens, err := s.encode(parts)
		if err != nil {
			t.Fatal(err)
		}
		if n := count(tokens, sim.TokenStart); n != len(messages)+1 {
			t.Fatalf("%d turns begin, %d messages", n, len(messages))
		}
		if n := count(tokens, sim.TokenEnd); n != len(messages) {
			t.Fatalf("%d turns end, %d messages", n, len(messages))
		}
	})
}

func count(tokens []gpu.Token, t gpu.Token) int {
	return len(slices.DeleteFunc(slices.Clone(tokens), func(x gpu.Token) bool { return x != t }))
}

func TestTemplateHammer(t *testing.T) {
	tmpl := newChatTemplate(sim.Tokenizer{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				m := strings.Repeat("m", i)
				if parts, err := tmpl.render([]message{{"user", m}}, true); err != nil || !strings.Contains(text(parts), "\n"+m+"<|im_end|>") {
					t.Errorf("%v %v", parts, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
