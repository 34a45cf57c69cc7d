// Asks a running server (bitnet-chat serve) by the openai package of npm, as a real client does.
//
//   bitnet-chat serve --port 8080 &
//   npm install --prefix /tmp/client openai && cp bench/openai_client.mjs /tmp/client
//   node /tmp/client/openai_client.mjs http://127.0.0.1:8080/v1 [KEY]
//
// It prints a line for each thing that it tried and ends with 1 at the first that is not as it should be.
import assert from "node:assert/strict";
import OpenAI from "openai";

const [baseURL, apiKey = "none"] = process.argv.slice(2);
const client = new OpenAI({baseURL, apiKey, maxRetries: 2});
const messages = [{role: "user", content: "What is a star?"}];

async function step(name, what) {
  const begin = performance.now();
  const found = await what();
  console.log(`${name}: ${found ?? "ok"} (${Math.round(performance.now() - begin)} ms)`);
}

const {data} = await client.models.list();
const model = data[0].id;
let whole;

await step("models", async () => (await client.models.retrieve(model)).id);
await step("chat", async () => {
  whole = await client.chat.completions.create({model, messages, seed: 1, max_tokens: 16});
  assert.equal(whole.usage.completion_tokens <= 16, true);
  return whole.choices[0].message.content;
});
await step("stream", async () => {
  const stream = await client.chat.completions.create(
      {model, messages, seed: 1, max_tokens: 16, stream: true, stream_options: {include_usage: true}});
  let text = "", usage;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});
await step("stream helper", async () => {
  const made = await client.chat.completions.stream({model, messages, seed: 1, max_tokens: 16}).finalChatCompletion();
  assert.equal(made.choices[0].message.content, whole.choices[0].message.content);
});
await step("logprobs", async () => {
  const made = await client.chat.completions.create({model, messages, seed: 1, max_tokens: 4, logprobs: true, top_logprobs: 5});
  assert.equal(made.choices[0].logprobs.content[0].top_logprobs.length, 5);
});
await step("stop", async () => {
  const made = await client.chat.completions.create({model, messages, seed: 1, max_tokens: 16, stop: [" is"]});
  assert.equal(made.choices[0].finish_reason, "stop");
  return made.choices[0].message.content;
});
await step("completions", async () => (await client.completions.create({model, prompt: "A star is", seed: 1, max_tokens: 6})).choices[0].text);
await step("refusals", async () => {
  await assert.rejects(client.chat.completions.create({model, messages, n: 2}), OpenAI.BadRequestError);
  await assert.rejects(client.chat.completions.create({model: "other", messages}), OpenAI.NotFoundError);
});
await step("abort", async () => {
  const stream = await client.chat.completions.create({model, messages, temperature: 1, stream: true});
  let chunks = 0;
  for await (const _ of stream) {
    if (++chunks === 3) stream.controller.abort();
  }
  assert.equal(chunks >= 3, true);  // what had come before may still be read
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 5);
  await assert.rejects(client.chat.completions.create({model, messages, temperature: 1}, {signal: abort.signal}), OpenAI.APIUserAbortError);
});
await step("100 at once", async () => {
  const made = await Promise.all(Array.from({length: 100}, (_, i) =>
      client.chat.completions.create({model, messages, seed: 1 + (i % 2) * 6, max_tokens: 16})));
  const texts = new Set(made.map((m, i) => `${i % 2}${m.choices[0].message.content}`));
  assert.equal(texts.size, 2);
  assert.equal(made[0].choices[0].message.content, whole.choices[0].message.content);
});
