/** Errors of the providers in neutral form: as responses, in mid-stream, and instead of an answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProvider, ProviderError, userText } from '../src/orchestrator/providers/index.ts';

interface ErrorRow {
  readonly name: string;
  readonly provider: 'openai' | 'anthropic' | 'gemini';
  readonly api?: 'chat' | 'responses';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly events?: readonly object[];
  readonly expected: Partial<Pick<ProviderError, 'kind' | 'type' | 'status' | 'retryable' | 'retryAfterMs'>>;
}

const TOO_LONG = { kind: 'context_length', retryable: false } as const;

const ROWS: readonly ErrorRow[] = [
  {
    name: 'the code of a context that is too long, with words of its own',
    provider: 'openai',
    status: 400,
    body: { error: { code: 'context_length_exceeded', message: 'Your input is too big for this model.' } },
    expected: { ...TOO_LONG, status: 400, type: 'context_length_exceeded' },
  },
  {
    name: 'the words of a context that is too long, without a code',
    provider: 'openai',
    status: 400,
    body: {
      error: {
        message: "This model's maximum context length is 8192 tokens.",
        type: 'invalid_request_error',
      },
    },
    expected: { ...TOO_LONG, status: 400 },
  },
  {
    name: 'a context that is too long, in the middle of a response',
    provider: 'openai',
    api: 'responses',
    status: 200,
    events: [
      {
        type: 'response.created',
        response: { id: 'r', object: 'response', status: 'in_progress', output: [] },
      },
      {
        type: 'response.failed',
        response: {
          id: 'r',
          object: 'response',
          status: 'failed',
          output: [],
          error: { code: 'context_length_exceeded', message: 'Too big.' },
        },
      },
    ],
    expected: { ...TOO_LONG, type: 'context_length_exceeded' },
  },
  {
    name: 'a prompt that is too long',
    provider: 'anthropic',
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    },
    expected: { ...TOO_LONG, status: 400, type: 'invalid_request_error' },
  },
  {
    name: 'an input that is too long',
    provider: 'gemini',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        status: 'INVALID_ARGUMENT',
      },
    },
    expected: { ...TOO_LONG, status: 400, type: 'INVALID_ARGUMENT' },
  },
  {
    name: 'a quota that is used up, which no waiting brings back',
    provider: 'openai',
    status: 429,
    body: { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } },
    expected: { kind: 'http', status: 429, type: 'insufficient_quota', retryable: false },
  },
  {
    name: 'a limit with the wait in the body',
    provider: 'gemini',
    status: 429,
    body: [
      {
        error: {
          code: 429,
          message: 'Quota exceeded',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }],
        },
      },
    ],
    expected: {
      kind: 'http',
      status: 429,
      type: 'RESOURCE_EXHAUSTED',
      retryable: true,
      retryAfterMs: 34_500,
    },
  },
  {
    name: 'a limit with the wait in the headers',
    provider: 'anthropic',
    status: 429,
    headers: { 'retry-after': '7' },
    body: { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } },
    expected: { kind: 'http', status: 429, type: 'rate_limit_error', retryable: true, retryAfterMs: 7_000 },
  },
  {
    name: 'an overload in the middle of a stream',
    provider: 'anthropic',
    status: 200,
    events: [
      { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [] } },
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    ],
    expected: { kind: 'stream', type: 'overloaded_error', retryable: true },
  },
  {
    name: 'an overload in place of an answer',
    provider: 'anthropic',
    status: 200,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    expected: { kind: 'stream', type: 'overloaded_error', retryable: true },
  },
  {
    name: 'a failure in the middle of a stream',
    provider: 'gemini',
    status: 200,
    events: [
      { candidates: [{ content: { parts: [{ text: 'Hel' }] } }] },
      { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
    ],
    expected: { kind: 'http', status: 503, type: 'UNAVAILABLE', retryable: true },
  },
  {
    name: 'a body that is no JSON',
    provider: 'gemini',
    status: 502,
    body: '<html>Bad Gateway</html>',
    expected: { kind: 'http', status: 502, retryable: true },
  },
];

const TYPES: Readonly<Record<string, string>> = { stream: 'text/event-stream', string: 'text/html' };

for (const { name, provider: key, api, status, headers, body, events, expected } of ROWS) {
  test(`${key}: ${name}`, async () => {
    const sse = events?.map((event) => {
      const type = key === 'gemini' ? '' : `event: ${(event as { type?: string }).type}\n`;
      return `${type}data: ${JSON.stringify(event)}\n\n`;
    });
    const provider = await createProvider(key, {
      apiKey: 'test-key',
      api,
      retry: { maxAttempts: 1 },
      fetch: async () =>
        new Response(sse?.join('') ?? (typeof body === 'string' ? body : JSON.stringify(body)), {
          status,
          headers: {
            'content-type': TYPES[sse === undefined ? typeof body : 'stream'] ?? 'application/json',
            ...headers,
          },
        }),
    });
    const stream = events !== undefined;
    const error = await provider.createCompletion([userText('hello')], [], { stream }).then(
      () => assert.fail('did not throw'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ProviderError, String(error));
    const { kind, type, status: said, retryable, retryAfterMs } = error;
    const seen = { kind, type, status: said, retryable, retryAfterMs };
    const wanted = { type: undefined, status: undefined, retryAfterMs: undefined, ...expected };
    assert.deepEqual(seen, 'type' in expected ? wanted : { ...wanted, type });
  });
}
