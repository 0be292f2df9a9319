"""What the official Python client makes of the server. Prints one line for each case that holds.

Usage: client.py MODEL PLAIN REFUSING_429 REFUSING_503 FAILING DRAINING (URLs without /v1)
"""

import json
import sys

import openai


def client(url, sent=None):
    def count(request):
        if sent is not None:
            sent.append(request)

    http = openai.DefaultHttpxClient(event_hooks={"request": [count]})
    return openai.OpenAI(base_url=url + "/v1", api_key="k", http_client=http)


def ask(c, **more):
    args = dict(model=MODEL, messages=[{"role": "user", "content": "Why is the sky blue?"}], max_tokens=8)
    args.update(more)
    return c.chat.completions.create(**args)


def case(name, ok, *shown):
    assert ok, (name, *shown)
    print("PASS", name)


def fails(call, kind):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


MODEL, PLAIN, REFUSING_429, REFUSING_503, FAILING, DRAINING = sys.argv[1:]

c = client(PLAIN)
whole = ask(c)
chunks = list(ask(c, stream=True, stream_options={"include_usage": True}))
text = "".join(k.choices[0].delta.content or "" for k in chunks if k.choices)
case("whole", whole.choices[0].message.content and whole.usage.completion_tokens <= 8, whole)
case("stream", text == whole.choices[0].message.content and chunks[-2].choices[0].finish_reason, chunks)
case("usage", chunks[-1].usage.total_tokens == whole.usage.total_tokens and chunks[-1].choices == [], chunks[-1])
parts = ask(c, messages=[{"role": "user", "content": [{"type": "text", "text": "Why is the sky blue?"}]}])
case("parts", parts.choices[0].message == whole.choices[0].message, parts)
done = c.completions.create(model=MODEL, prompt="Once", max_tokens=4)
case("completion", done.choices[0].text and done.object == "text_completion", done)
case("models", [m.id for m in c.models.list()] == [MODEL])
case("model", c.models.retrieve(MODEL).id == MODEL)

more = dict(n=3, temperature=1, seed=5)
three = ask(c, **more)
texts = ["", "", ""]
for k in ask(c, stream=True, **more):
    for x in k.choices:
        texts[x.index] += x.delta.content or ""
case("choices", texts == [x.message.content for x in three.choices] and [x.index for x in three.choices] == [0, 1, 2], texts)
probs = ask(c, logprobs=True, top_logprobs=2)
tokens = probs.choices[0].logprobs.content
case("log probabilities", len(tokens) == probs.usage.completion_tokens and all(t.logprob <= 0 and len(t.top_logprobs) == 2 for t in tokens), probs)
older = c.completions.create(model=MODEL, prompt="Once", max_tokens=4, logprobs=1).choices[0].logprobs
case("older log probabilities", len(older.tokens) == 4 and all(t in top for t, top in zip(older.tokens, older.top_logprobs)), older)
schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
answer = ask(c, max_tokens=100, response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema, "strict": True}})
case("schema", json.loads(answer.choices[0].message.content)["ok"] in (True, False), answer)
text = whole.choices[0].message.content
answer = ask(c, stop=[text[2:4]])
case("stop", answer.choices[0].message.content == text[: text.index(text[2:4])] and answer.choices[0].finish_reason == "stop", answer)
case("cached tokens", ask(c).usage.prompt_tokens_details.cached_tokens > 0, whole.usage)

for name, url in ("429", REFUSING_429), ("503", REFUSING_503):
    sent = []
    answer = ask(client(url, sent))
    case("comes again after " + name, answer.usage.completion_tokens > 0 and len(sent) == 2, len(sent))

sent = []
e = fails(lambda: ask(client(DRAINING, sent)), openai.InternalServerError)
case("stays away", e.status_code == 503 and e.code == "draining" and len(sent) == 1, e, len(sent))

sent, got = [], []


def read():
    for k in ask(client(FAILING, sent), stream=True, max_tokens=200):
        got.append(k)


e = fails(read, openai.APIError)
case("error in a stream", e.code == "device_failed" and "device" in e.message and got and len(sent) == 1, e, got)

e = fails(lambda: ask(c, model="gpt-unknown"), openai.NotFoundError)
case("unknown model", e.code == "model_not_found" and e.param == "model" and e.type == "NotFoundError", e)
e = fails(lambda: ask(c, temperature=5), openai.BadRequestError)
case("bad request", e.code == "invalid_value" and e.param == "temperature", e)
e = fails(lambda: ask(c, messages=[]), openai.BadRequestError)
case("no messages", e.param == "messages", e)
