/**
 * The ways an answer is read, each fed with the same bytes by a `fetch`: through the orchestrator's adapters, through
 * the spans of the providers' SDKs, and through the reader of result objects.
 */
import assert from 'node:assert/strict';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { AnthropicInstrumentation } from '../../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../../src/instrumentation/google-genai.ts';
import { OpenAIInstrumentation } from '../../src/instrumentation/openai.ts';
import { readProviderResponse } from '../../src/interaction/index.ts';
import { parseOrKeep } from '../../src/json/index.ts';
import {
  createProvider,
  listToolCalls,
  ProviderError,
  userText,
  visibleText,
} from '../../src/orchestrator/providers/index.ts';
import { ObservatorySpanProcessor } from '../../src/processor/index.ts';
import { priceUsage, readUsageUnits, type TokenUsage } from '../../src/signals/index.ts';
import { duringFile } from './model-hooks.ts';
import { anthropicSdk, googleSdk, openaiSdk } from './model-sdks.ts';
import type { Said } from './recorded-truth.ts';
import type { Exchange, Json } from './recordings.ts';
import { Telemetry } from './telemetry.ts';

// One for each exchange: the same answer by another instrumentation is the same call to a processor.
let processor = new ObservatorySpanProcessor();
const telemetry = new Telemetry({
  onStart: (span, parent) => processor.onStart(span, parent),
  onEnding: (span) => processor.onEnding?.(span),
  onEnd: (span) => processor.onEnd(span),
  forceFlush: () => processor.forceFlush(),
  shutdown: () => processor.shutdown(),
} satisfies SpanProcessor);
duringFile(new OpenAIInstrumentation({ captureContent: true }));
const anthropicInstrumentation = duringFile(new AnthropicInstrumentation({ captureContent: true }));
duringFile(new GoogleGenAIInstrumentation({ captureContent: true }));
const { OpenAI } = openaiSdk().module;
const { Anthropic } = anthropicSdk().module;
const { GoogleGenAI } = googleSdk().module;

/** Ends the OpenTelemetry SDK that all ways share. */
export async function closeWays(): Promise<void> {
  await telemetry.shutdown();
}

/** A `fetch` that gives the recorded answer to whatever is asked, and keeps the bodies it was sent. */
function play({ response: { status, headers, body, sse } }: Exchange, sent: Json[]): typeof fetch {
  return async (_input, init) => {
    sent.push(typeof init?.body === 'string' ? JSON.parse(init.body) : undefined);
    // Headers about the transport of the recording do not fit that of the replay.
    const kept = Object.entries(headers).filter(
      ([name]) => !/^(content-(length|encoding|type)|transfer-|retry-)/.test(name),
    );
    const type = sse === undefined ? 'application/json' : 'text/event-stream';
    return new Response(sse ?? JSON.stringify(body), { status, headers: [...kept, ['content-type', type]] });
  };
}

/** The model asked for: the recording's path for Gemini, its body for the others; documented shapes have neither. */
function modelOf({ request, model }: Exchange): string {
  const fromPath = /models\/([^:?]+)/.exec(request?.path ?? '')?.[1];
  return fromPath ?? (request?.body.model as string | undefined) ?? model ?? 'some-model';
}

/** What the orchestrator's adapter makes of an answer; of an error its code alone. */
export async function throughAdapter(exchange: Exchange): Promise<Said> {
  const { provider: name, response } = exchange;
  const provider = await createProvider(name, {
    apiKey: 'test-key',
    ...(exchange.api === 'responses' ? { api: 'responses' } : {}),
    fetch: play(exchange, []),
    retry: { maxAttempts: 1 },
  });
  try {
    const stream = response.sse !== undefined;
    const completion = await provider.createCompletion([userText('hello')], [], {
      model: modelOf(exchange),
      stream,
    });
    const { message, model, usage } = completion;
    const calls = listToolCalls(message);
    if (calls.length > 0) assert.equal(completion.finishReason, 'tool_calls');
    return {
      model,
      id: completion.responseId,
      usage,
      costUsd:
        completion.costUsd ??
        priceUsage({
          provider: provider.name,
          model,
          usage,
          serviceTier: completion.serviceTier,
          at: new Date(),
        }).costUsd,
      text: visibleText(message.parts),
      reasoning: message.parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
      calls: calls.map((call) => ({
        id: call.idAssigned === true ? undefined : call.id,
        name: call.name,
        arguments: parseOrKeep(call.invalidArguments?.text) ?? call.arguments,
      })),
      finishReasons: completion.rawFinishReason === undefined ? [] : [completion.rawFinishReason],
    };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const status = response.status < 400 ? undefined : response.status;
    assert.equal(error.status, status);
    if (status !== undefined) {
      const passes = status === 429 || status >= 500;
      assert.equal(error.retryable, passes && error.type !== 'insufficient_quota', error.message);
    }
    return { text: '', reasoning: '', calls: [], finishReasons: [], error: error.type ?? String(status) };
  }
}

/** The span of a call through the provider's SDK. */
export async function spanOf(exchange: Exchange): Promise<ReadableSpan> {
  await throughSpan(exchange);
  return telemetry.only;
}

/** The span of any call, whose stream is read to its end. */
export async function spanDuring(call: () => Promise<unknown>): Promise<ReadableSpan> {
  telemetry.reset();
  processor = new ObservatorySpanProcessor();
  await drain(await call());
  return telemetry.only;
}

/** A client of OpenAI that gets this answer, whole or as the events of a stream. */
export function openaiWith(answer: Json | readonly Json[]): import('openai').OpenAI {
  const events = Array.isArray(answer) ? answer.map((event) => `data: ${JSON.stringify(event)}\n\n`) : [];
  const response = {
    status: 200,
    headers: {},
    ...(Array.isArray(answer) ? { sse: events.join('') } : { body: answer }),
  };
  return new OpenAI({ apiKey: 'sk-test', maxRetries: 0, fetch: play({ response } as Exchange, []) });
}

/** What the span of the provider's SDK says, ours or, with `native`, the one Anthropic's SDK makes itself. */
export async function throughSpan(exchange: Exchange, native?: 'native'): Promise<Said> {
  anthropicInstrumentation.setConfig({
    captureContent: true,
    native: native === undefined ? 'suppress' : 'prefer',
  });
  telemetry.reset();
  processor = new ObservatorySpanProcessor();
  const sent: Json[] = [];
  await callSdk(exchange, play(exchange, sent));
  const { attributes, status, instrumentationScope } = telemetry.only;
  assert.equal(instrumentationScope.name === 'com.anthropic.sdk.typescript', native !== undefined);
  assert.equal(attributes['gen_ai.request.model'], modelOf(exchange).replace(/^.*models\//, ''));
  const { 'error.type': error, 'gen_ai.output.messages': written = '[]' } = attributes;
  assert.equal(status.code === 2, error !== undefined);
  const parts: Json[] = JSON.parse(String(written))[0]?.parts ?? [];
  const words = (type: string): string =>
    parts.map((part) => (part.type === type ? part.content : '')).join('');
  const answered = parts.filter(({ type }) => type === 'tool_call_response').map(({ id }) => id);
  const calls = parts.filter(({ type, id }) => type === 'tool_call' && !(id && answered.includes(id)));
  assert.equal(attributes['observatory.tool_call_count'] ?? 0, calls.length);
  return {
    model: attributes['gen_ai.response.model'] as string | undefined,
    id: attributes['gen_ai.response.id'] as string | undefined,
    usage: usageOf(attributes),
    costUsd: attributes['observatory.cost_usd'] as number | undefined,
    text: words('text'),
    reasoning: words('reasoning'),
    calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    finishReasons: (attributes['gen_ai.response.finish_reasons'] as string[] | undefined) ?? [],
    error: error as string | undefined,
  };
}

function usageOf(attributes: Readonly<Record<string, unknown>>): TokenUsage {
  const count = (name: string) => attributes[name] as number | undefined;
  return {
    inputTokens: count('gen_ai.usage.input_tokens'),
    outputTokens: count('gen_ai.usage.output_tokens'),
    cacheReadTokens: count('gen_ai.usage.cache_read.input_tokens'),
    cacheWriteTokens: count('gen_ai.usage.cache_creation.input_tokens'),
    cacheWrite1hTokens: count('anthropic.usage.cache_creation.ephemeral_1h_input_tokens'),
    reasoningTokens: count('gen_ai.usage.reasoning.output_tokens'),
    ...readUsageUnits(JSON.parse(String(attributes['observatory.usage_units'] ?? '{}'))),
  };
}

/** What the reader of result objects makes of a whole answer; it reads no errors and no reasoning. */
export function throughReader({ response }: Exchange): Said {
  const read = readProviderResponse(response.body);
  return {
    model: read.model,
    id: read.responseId,
    usage: read.usage,
    text: read.answer ?? '',
    reasoning: '',
    calls: read.toolCalls.map((call) => ({ id: call.id, name: call.name ?? '', arguments: call.arguments })),
    finishReasons: read.finishReasons ?? [],
  };
}

/** Sends the recorded request and reads the answer; what the SDK throws of an error is its own affair. */
async function callSdk(exchange: Exchange, fetch: typeof globalThis.fetch): Promise<void> {
  const { provider, request, response } = exchange;
  const body: Json = { ...PLAIN_BODY[provider], ...request?.body, model: modelOf(exchange) };
  if (response.sse !== undefined) body.stream = true;
  try {
    if (provider === 'openai') await callOpenAI(exchange, body, fetch);
    else if (provider === 'anthropic') await callAnthropic(exchange, body, fetch);
    else await callGemini(exchange, body, fetch);
  } catch (error) {
    if (error instanceof assert.AssertionError || error instanceof TypeError) throw error;
  }
}

const PLAIN_BODY = {
  openai: { messages: [{ role: 'user', content: 'hello' }] },
  anthropic: { max_tokens: 16, messages: [{ role: 'user', content: 'hello' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
} as const;

async function callOpenAI({ api }: Exchange, body: Json, fetch: typeof globalThis.fetch): Promise<void> {
  const client = new OpenAI({ apiKey: 'sk-test', maxRetries: 0, fetch });
  if (api !== 'responses') return await drain(await client.chat.completions.create(body));
  const { messages: _, ...rest } = body;
  await drain(await client.responses.create({ input: 'hello', ...rest }));
}

async function callAnthropic(
  { request }: Exchange,
  body: Json,
  fetch: typeof globalThis.fetch,
): Promise<void> {
  const client = new Anthropic({ apiKey: 'key', maxRetries: 0, fetch });
  const isBeta = request?.path.includes('beta=true') === true;
  const options = { timeout: 10_000 };
  await drain(
    await (isBeta ? client.beta.messages.create(body, options) : client.messages.create(body, options)),
  );
}

async function callGemini(
  { request, response, api }: Exchange,
  body: Json,
  fetch: typeof globalThis.fetch,
): Promise<void> {
  const vertexai = request?.path.includes('/projects/') === true;
  const { models } = new GoogleGenAI({ vertexai, apiKey: 'key' });
  const { contents, model, systemInstruction, tools, toolConfig, safetySettings, generationConfig } = body;
  const config = { systemInstruction, tools, toolConfig, safetySettings, ...generationConfig };
  const params = { model, contents, config: { ...config, httpOptions: { fetch } } };
  const streams = api === 'streamGenerateContent' || response.sse !== undefined;
  await drain(await (streams ? models.generateContentStream(params) : models.generateContent(params)));
}

async function drain(result: unknown): Promise<void> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return;
  for await (const _ of result as AsyncIterable<unknown>);
}
