// What the official Node client makes of the server. Prints one line for each case that holds.
//
// Usage: client.mjs FOLDER MODEL PLAIN REFUSING_429 REFUSING_503 FAILING DRAINING (FOLDER has node_modules, URLs are without /v1)

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [folder, model, plain, refusing429, refusing503, failing, draining] = process.argv.slice(2);
const OpenAI = createRequire(folder + "/")("openai").default;

function client(url, sent = []) {
  return new OpenAI({
    baseURL: url + "/v1",
    apiKey: "k",
    fetch: (...args) => {
      sent.push(args[0]);
      return fetch(...args);
    },
  });
}

const messages = [{ role: "user", content: "Why is the sky blue?" }];
const ask = (c, more = {}) => c.chat.completions.create({ model, messages, max_tokens: 8, ...more });

async function pass(name, run) {
  await run();
  console.log("PASS", name);
}

async function read(stream) {
  const chunks = [];
  for await (const c of stream) chunks.push(c);
  return chunks;
}

const c = client(plain);
const whole = await ask(c);

await pass("stream", async () => {
  const chunks = await read(await ask(c, { stream: true, stream_options: { include_usage: true } }));
  const text = chunks.flatMap((k) => k.choices.map((x) => x.delta.content ?? "")).join("");
  assert.equal(text, whole.choices[0].message.content);
  assert.ok(chunks.at(-2).choices[0].finish_reason);
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.equal(chunks.at(-1).usage.completion_tokens, whole.usage.completion_tokens);
});

await pass("choices", async () => {
  const more = { n: 3, temperature: 1, seed: 5 };
  const three = await ask(c, more);
  assert.deepEqual(three.choices.map((x) => x.index), [0, 1, 2]);
  const texts = ["", "", ""];
  for (const k of await read(await ask(c, { ...more, stream: true })))
    for (const x of k.choices) texts[x.index] += x.delta.content ?? "";
  assert.deepEqual(texts, three.choices.map((x) => x.message.content));
});

await pass("log probabilities", async () => {
  const answer = await ask(c, { logprobs: true, top_logprobs: 2 });
  const tokens = answer.choices[0].logprobs.content;
  assert.equal(tokens.length, answer.usage.completion_tokens);
  assert.ok(tokens.every((t) => t.logprob <= 0 && t.top_logprobs.length === 2 && t.top_logprobs[0].token === t.token));
});

await pass("schema", async () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false };
  const answer = await ask(c, { max_tokens: 100, response_format: { type: "json_schema", json_schema: { name: "s", schema, strict: true } } });
  assert.equal(typeof JSON.parse(answer.choices[0].message.content).ok, "boolean");
});

await pass("stop", async () => {
  const text = whole.choices[0].message.content;
  const stop = text.slice(2, 4);
  const answer = await ask(c, { stop: [stop] });
  assert.equal(answer.choices[0].message.content, text.slice(0, text.indexOf(stop)));
  assert.equal(answer.choices[0].finish_reason, "stop");
});

for (const [status, url] of [[429, refusing429], [503, refusing503]])
  await pass("comes again after " + status, async () => {
    const sent = [];
    assert.ok((await ask(client(url, sent))).usage.completion_tokens > 0);
    assert.equal(sent.length, 2);
  });

await pass("stays away", async () => {
  const sent = [];
  await assert.rejects(ask(client(draining, sent)), (e) => e.status === 503 && e.code === "draining");
  assert.equal(sent.length, 1);
});

await pass("error in a stream", async () => {
  const sent = [], got = [];
  const run = async () => {
    for await (const k of await ask(client(failing, sent), { stream: true, max_tokens: 200 })) got.push(k);
  };
  await assert.rejects(run(), (e) => e instanceof OpenAI.APIError && e.code === "device_failed");
  assert.ok(got.length > 0);
  assert.equal(sent.length, 1);
});

await pass("bad request", async () => {
  await assert.rejects(ask(c, { temperature: 5 }), (e) => e.status === 400 && e.param === "temperature");
});
