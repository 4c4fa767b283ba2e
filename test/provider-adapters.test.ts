import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import {
  createProvider,
  listToolCalls,
  type ModelMessage,
  type ModelTool,
  type Provider,
  ProviderError,
  registerProvider,
  userText,
  visibleText,
} from '../src/orchestrator/providers/index.ts';
import { pairCallsWithResults, resolveApiKey } from '../src/wire/contract/index.ts';
import { random } from './support/random.ts';
import { ScriptedProvider, type Turn } from './support/scripted-provider.ts';
import { signatureOf } from './support/scripted-wire.ts';

const PROVIDERS = [
  { name: 'openai', model: 'gpt-5.4-mini' },
  { name: 'anthropic', model: 'claude-sonnet-5-5' },
  { name: 'gemini', model: 'gemini-3-flash-preview' },
  { name: 'gemini', model: 'gemini-2.5-flash' },
];
const KEY = 'sk-test-abcdef0123456789';
const TOOLS: ModelTool[] = [
  { name: 'add', description: 'adds', parameters: { type: 'object', properties: { a: { type: 'number' } } } },
];

async function connect(server: ScriptedProvider, name: string, model: string): Promise<Provider> {
  return await createProvider(name, {
    apiKey: KEY,
    model,
    baseUrl: server.baseUrl(name),
    retry: { initialDelayMs: 1, maxDelayMs: 2 },
    idleTimeoutMs: 5_000,
  });
}

async function failure(run: Promise<unknown>): Promise<ProviderError> {
  const error = await run.then(
    () => assert.fail('did not throw'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ProviderError, String(error));
  return error;
}

for (const { name, model } of PROVIDERS) {
  const label = `${name} (${model})`;

  test(`${label}: plain and streamed answers read the same: text, reasoning, calls, usage`, async () => {
    const turn: Turn = {
      text: 'I shall add.',
      reasoning: 'two numbers',
      calls: [
        { name: 'add', arguments: { a: 1, deep: { list: [1, 'ü'] } } },
        { name: 'add', arguments: {} },
      ],
      usage: { input: 120, output: 30, cached: 100 },
    };
    await using server = await ScriptedProvider.start(() => turn);
    const provider = await connect(server, name, model);
    const ask = (stream: boolean) => provider.createCompletion([userText('add')], TOOLS, { stream });
    const [plain, streamed] = [await ask(false), await ask(true)];
    assert.deepEqual(
      listToolCalls(streamed.message).map((call) => [call.name, call.arguments]),
      [
        ['add', { a: 1, deep: { list: [1, 'ü'] } }],
        ['add', {}],
      ],
    );
    assert.equal(visibleText(streamed.message.parts), 'I shall add.');
    assert.equal(streamed.finishReason, 'tool_calls');
    assert.equal(streamed.usage?.inputTokens, 120);
    assert.equal(streamed.usage?.outputTokens, 30);
    assert.equal(streamed.usage?.cacheReadTokens, 100);
    assert.ok((streamed.timeToFirstChunkMs ?? -1) >= 0);
    assert.equal(visibleText(plain.message.parts), visibleText(streamed.message.parts));
    assert.deepEqual(plain.usage, streamed.usage);
    assert.equal(plain.finishReason, streamed.finishReason);
    const ids = (completion: typeof plain) => listToolCalls(completion.message).map((call) => call.name);
    assert.deepEqual(ids(plain), ids(streamed));
  });

  test(`${label}: a history with parallel calls, errors, skipped calls and later text is accepted`, async () => {
    await using server = await ScriptedProvider.start((_, index) =>
      index === 0
        ? { reasoning: 'hm', calls: [{ name: 'add' }, { name: 'add' }, { name: 'add' }] }
        : { text: 'done' },
    );
    const provider = await connect(server, name, model);
    const messages: ModelMessage[] = [{ role: 'system', text: 'be brief' }, userText('go')];
    const first = await provider.createCompletion(messages, TOOLS);
    const [one, two] = listToolCalls(first.message);
    assert.ok(one && two);
    const answer = (call: typeof one, text: string, isError: boolean) =>
      ({
        type: 'tool_result',
        id: call.id,
        name: call.name,
        content: [{ type: 'text', text }],
        isError,
      }) as const;
    messages.push(
      first.message,
      { role: 'tool', parts: [answer(two, 'second', true), answer(one, 'first', false)] },
      userText('and now?'),
    );
    const second = await provider.createCompletion(messages, TOOLS);
    assert.deepEqual(server.refused, []);
    assert.equal(visibleText(second.message.parts), 'done');
    const results = server.requests[1]?.lastResults ?? [];
    assert.deepEqual(
      results.map((result) => result.text),
      ['first', 'second', 'This call was not run.'],
    );
    if (name !== 'openai')
      assert.deepEqual(
        results.map((result) => result.isError),
        [false, true, true],
      );
    const body = JSON.stringify(server.requests[1]?.body);
    if (name === 'anthropic') {
      assert.ok(body.includes(signatureOf(0)), 'the signature of the thinking block comes back');
      const wire = server.requests[1]?.body.messages as unknown[] | undefined;
      assert.equal(wire?.length, 3, 'all results in one user message');
    }
    if (name === 'gemini') assert.ok(body.includes(signatureOf(0)), 'the thought signature comes back');
  });

  test(`${label}: a history another provider wrote is accepted`, async () => {
    await using server = await ScriptedProvider.start([{ text: 'ok' }]);
    const provider = await connect(server, name, model);
    const id = 'call|with/odd:characters and far more than forty of them';
    await provider.createCompletion(
      [
        userText('go'),
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'hm', provider: 'elsewhere', raw: { any: 'thing' } },
            { type: 'text', text: ' ' },
            {
              type: 'tool_call',
              id,
              name: 'add',
              arguments: {},
              invalidArguments: { text: '{"a":', reason: 'cut' },
            },
          ],
        },
        {
          role: 'tool',
          parts: [
            {
              type: 'tool_result',
              id,
              name: 'add',
              content: [
                { type: 'text', text: '' },
                { type: 'image', mimeType: 'image/png', data: 'aGk=' },
              ],
              isError: false,
            },
          ],
        },
        { role: 'system', text: 'a reminder' },
      ],
      TOOLS,
    );
    assert.deepEqual(server.refused, []);
    const body = JSON.stringify(server.requests[0]?.body);
    assert.ok(body.includes('INVALID_JSON'), 'the model sees what it wrote');
    assert.ok(body.includes('aGk='), 'the image is sent');
    assert.equal(body.includes('skip_thought_signature_validator'), model.startsWith('gemini-3'));
  });

  test(`${label}: arguments that are no JSON object come back as such and throw nothing`, async () => {
    await using server = await ScriptedProvider.start([
      {
        calls: [
          { name: 'add', rawArguments: '{"a": 1' },
          { name: 'add', rawArguments: '[1]' },
        ],
      },
    ]);
    const provider = await connect(server, name, model);
    const { message } = await provider.createCompletion([userText('go')], TOOLS);
    const calls = listToolCalls(message);
    assert.deepEqual(
      calls.map((call) => call.arguments),
      [{}, {}],
    );
    assert.equal(calls[0]?.invalidArguments?.text, '{"a": 1');
    assert.match(calls[1]?.invalidArguments?.reason ?? '', /expected a JSON object, got an array/);
  });

  test(`${label}: retries what may pass, as long as the server asks, and says so`, async () => {
    await using server = await ScriptedProvider.start([
      { status: 429, headers: { 'retry-after-ms': '20' } },
      { status: 503, text: 'overloaded' },
      { cutAfterBytes: 60, text: 'a longer answer that is cut in the middle' },
      { text: 'at last' },
    ]);
    const provider = await connect(server, name, model);
    const started = performance.now();
    const seen: number[] = [];
    const completion = await provider.createCompletion([userText('go')], [], {
      onRetry: (attempt) => seen.push(attempt.status ?? 0),
    });
    assert.equal(visibleText(completion.message.parts), 'at last');
    assert.deepEqual(
      completion.failedAttempts.map((attempt) => attempt.status),
      [429, 503, undefined],
    );
    assert.deepEqual(seen, [429, 503, 0]);
    assert.equal(completion.failedAttempts[0]?.delayMs, 20);
    assert.ok(performance.now() - started >= 19);
    assert.equal(server.requests.length, 4);
  });

  test(`${label}: does not retry a refusal, nor wait longer than the bound`, async () => {
    await using server = await ScriptedProvider.start([{ status: 400, text: `no ${KEY} no` }]);
    const provider = await connect(server, name, model);
    const refused = await failure(provider.createCompletion([userText('go')], []));
    assert.equal(refused.status, 400);
    assert.equal(server.requests.length, 1);
    assert.ok(!JSON.stringify({ ...refused, text: refused.message }).includes(KEY), 'no key in the error');
    server.play([{ status: 429, headers: { 'retry-after': '3600' } }]);
    const limited = await failure(provider.createCompletion([userText('go')], []));
    assert.equal(limited.retryAfterMs, 3_600_000);
    assert.equal(server.requests.length, 1);
    server.play(() => ({ status: 500 }));
    const down = await failure(provider.createCompletion([userText('go')], []));
    assert.equal(down.failedAttempts.length, 3);
    assert.equal(server.requests.length, 4);
  });

  test(`${label}: abort ends a hanging call and a wait at once, and leaves no listener`, async () => {
    await using server = await ScriptedProvider.start(() => ({ hang: true }));
    const provider = await connect(server, name, model);
    const controller = new AbortController();
    const call = provider.createCompletion([userText('go')], [], { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 30);
    await assert.rejects(call, { message: 'enough' });
    server.play(() => ({ status: 429, headers: { 'retry-after': '30' } }));
    const second = new AbortController();
    const waiting = provider.createCompletion([userText('go')], [], { signal: second.signal });
    setTimeout(() => second.abort(new Error('enough')), 30);
    const started = performance.now();
    await assert.rejects(waiting, { message: 'enough' });
    assert.ok(performance.now() - started < 25_000, 'before the thirty seconds it was told to wait');
  });

  test(`${label}: silence ends in a timeout, no connection in a network error`, async () => {
    await using server = await ScriptedProvider.start(() => ({ hang: true }));
    const options = { apiKey: KEY, model, retry: { maxAttempts: 1 } };
    const silent = await createProvider(name, {
      ...options,
      baseUrl: server.baseUrl(name),
      idleTimeoutMs: 40,
    });
    assert.equal((await failure(silent.createCompletion([userText('go')], []))).kind, 'timeout');
    const gone = await ScriptedProvider.start([]);
    const nobody = await createProvider(name, { ...options, baseUrl: gone.baseUrl(name) });
    await gone.close();
    const error = await failure(nobody.createCompletion([userText('go')], []));
    assert.equal(error.kind, 'network');
    assert.match(error.message, /ECONNREFUSED/);
  });
}

test('only Anthropic is asked to cache the prompt, since the others do so by default', async () => {
  for (const { name, model } of PROVIDERS) {
    await using server = await ScriptedProvider.start([{ text: 'ok' }]);
    const provider = await connect(server, name, model);
    await provider.createCompletion([userText('go')], [], { cachePrompt: true });
    assert.equal('cache_control' in (server.requests[0]?.body ?? {}), name === 'anthropic');
  }
});

test('a key comes from the option, the environment, then a .env file, and its absence is a typed error', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'));
  const before = process.cwd();
  process.chdir(folder);
  try {
    writeFileSync('.env', 'OPENAI_API_KEY="from file"\n');
    const find = (apiKey: string | undefined, env: Record<string, string>) =>
      resolveApiKey('openai', ['OPENAI_API_KEY'], { apiKey, env });
    assert.equal(find('option', { OPENAI_API_KEY: 'environment' }), 'option');
    assert.equal(find(undefined, { OPENAI_API_KEY: 'environment' }), 'environment');
    assert.equal(find(undefined, { OPENAI_API_KEY: ' ' }), 'from file');
    writeFileSync('.env', '');
    assert.throws(
      () => find(undefined, {}),
      (error: unknown) => ObservatoryError.isInstance(error) && error.code === 'API_KEY_MISSING',
    );
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

test('an unknown provider is a typed error, and a registered one is used', async () => {
  await assert.rejects(createProvider('nobody'), { code: 'INVALID_OPTION' });
  const undo = registerProvider('nobody', () => ({
    name: 'nobody',
    defaultModel: 'none',
    createCompletion: () => Promise.reject(new Error('not asked')),
  }));
  assert.equal((await createProvider('nobody')).name, 'nobody');
  undo();
  await assert.rejects(createProvider('nobody'), { code: 'INVALID_OPTION' });
});

test('whatever is cut from a conversation, every call has one result right after it, in order', () => {
  const below = random(7);
  for (let round = 0; round < 500; round += 1) {
    const messages: ModelMessage[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const calls = Array.from({ length: below(4) }, (_, at) => `c${turn}_${at}`);
      messages.push({
        role: 'assistant',
        parts: calls.map((id) => ({ type: 'tool_call', id, name: 't', arguments: {} })),
      });
      const results = calls.filter(() => below(3) > 0).reverse();
      messages.push({
        role: 'tool',
        parts: results.map((id) => ({ type: 'tool_result', id, name: 't', content: [], isError: false })),
      });
      if (below(2) === 0) messages.push(userText('more'));
    }
    const kept = messages.filter(() => below(5) > 0);
    const paired = pairCallsWithResults(kept);
    for (const [index, message] of paired.entries()) {
      const calls = message.role === 'assistant' ? listToolCalls(message) : [];
      const next = paired[index + 1];
      const answers = next?.role === 'tool' ? next.parts.map((part) => part.id) : [];
      if (message.role === 'assistant')
        assert.deepEqual(
          answers,
          calls.map((call) => call.id),
        );
      if (message.role === 'tool') assert.equal(paired[index - 1]?.role, 'assistant');
    }
  }
});
