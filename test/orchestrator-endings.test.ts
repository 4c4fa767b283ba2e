/** How runs end that do not go well, and what they still give. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpGhost } from '../src/golden/index.ts';
import type { GhostEvent, Provider } from '../src/orchestrator/index.ts';
import { answersServer, anyTool, textResult } from './support/answers.ts';
import { tryGhost } from './support/ghost.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';
import { waitUntil } from './support/wait-until.ts';

const READ_ONLY = { annotations: { readOnlyHint: true } };
const server = answersServer({
  tools: [
    anyTool('broken'),
    anyTool('wrong_id'),
    anyTool('poll', READ_ONLY),
    anyTool('note'),
    anyTool('never'),
  ],
  results: {
    broken: [textResult('database is locked', true)],
    wrong_id: ['A', 'B', 'C', 'D'].map((id) => textResult(`no customer ${id}`, true)),
    poll: [textResult('pending')],
    note: [textResult('noted: 42')],
    never: [null],
  },
});
const serverConfig = { mcpServers: { desk: server } };
const call = (name: string, args: object = {}) => ({ name: `desk__${name}`, arguments: { ...args } });

test('a tool that answers the same error again and again is paused; one that is given wrong ids is not', async () => {
  const { result, events } = await tryGhost(
    'openai',
    (_, at) => (at < 4 ? { calls: [call('broken', { at }), call('wrong_id', { at })] } : { text: 'done' }),
    { serverConfig },
  );
  const errorsOf = (tool: string) =>
    result.toolChain.filter(({ toolName }) => toolName === `desk.${tool}`).map(({ error }) => error);
  assert.deepEqual(errorsOf('broken').slice(0, 3), Array(3).fill('database is locked'));
  assert.match(errorsOf('broken')[3] ?? '', /broken of desk failed again and again; calls to it are paused/);
  assert.equal(errorsOf('wrong_id')[3], 'no customer D', 'it was still called');
  assert.ok(
    events.some((event) => event.type === 'breaker' && event.state === 'open' && event.tool === 'broken'),
  );
});

test('a poll that never changes ends before the default number of turns', async () => {
  const { result } = await tryGhost(
    'anthropic',
    (_, at) => (at < 8 ? { calls: [call('poll')] } : { text: 'still pending' }),
    { serverConfig },
  );
  assert.equal(result.executionMetadata.stopReason, 'loop');
  assert.equal(result.finalResult, 'still pending');
  assert.ok(result.executionMetadata.totalIterations < 10);
});

/** A provider that somebody else wrote: one call, then `next`. */
function customProvider(next: () => unknown): Provider {
  let turn = 0;
  return {
    name: 'custom',
    defaultModel: 'own-1',
    createCompletion: async () => {
      turn += 1;
      if (turn > 1) return (await next()) as never;
      return {
        message: {
          role: 'assistant',
          parts: [{ type: 'tool_call', id: 'c1', name: 'desk__note', arguments: {} }],
        },
        finishReason: 'tool_calls',
        usage: { inputTokens: 40, outputTokens: 2 },
        failedAttempts: [],
        wire: { request: null, response: null },
      };
    },
  };
}

const task = { serverConfig, systemPrompt: '', userPrompt: 'Note it.' };

for (const [name, next, message] of [
  [
    'a plain error',
    () => {
      throw new TypeError('cannot read the key sk-abcdefgh12345678');
    },
    /custom: cannot read the key \[key\]$/,
  ],
  ['a thrown text', () => Promise.reject('broken'), /custom: broken/],
  [
    'an answer that is none',
    () => ({ text: 'hello' }),
    /custom: createCompletion gave no message with parts/,
  ],
] as const) {
  test(`${name} of a custom provider ends in a result with what is known`, async () => {
    const result = await mcpGhost({ ...task, provider: customProvider(next), priceOf: () => 0.5 });
    assert.equal(result.success, false);
    assert.equal(result.executionMetadata.stopReason, 'provider_failed');
    assert.equal(result.finalResult, 'noted: 42');
    assert.equal(result.toolChain.length, 1);
    assert.equal(result.executionMetadata.tokenUsage.totalTokens, 42);
    assert.equal(result.executionMetadata.costUsd, 0.5);
    assert.match(result.errors.at(-1)?.error ?? '', message);
  });
}

test('an error of a custom provider costs the plan, not the run', async () => {
  let asked = 0;
  const provider: Provider = {
    ...customProvider(() => undefined),
    createCompletion: async () => {
      asked += 1;
      if (asked === 1) throw new Error('no plans');
      return {
        message: { role: 'assistant', parts: [{ type: 'text', text: 'fine' }] },
        finishReason: 'stop',
        failedAttempts: [],
        wire: { request: null, response: null },
      };
    },
  };
  const result = await mcpGhost({ ...task, provider, plan: true });
  assert.equal(result.finalResult, 'fine');
  assert.equal(result.plan, null);
});

test('an abort in mid-call ends in a result with the steps so far, and why', async () => {
  await using model = await ScriptedProvider.start([
    { calls: [call('note')], usage: { input: 30, output: 5 } },
    { text: 'I wait.', calls: [call('note'), call('never')], usage: { input: 60, output: 5 } },
  ]);
  const controller = new AbortController();
  const events: GhostEvent[] = [];
  const run = mcpGhost({
    ...task,
    provider: 'openai',
    apiKey: 'k',
    baseUrl: model.baseUrl('openai'),
    signal: controller.signal,
    onEvent: (event) => events.push(event),
  });
  await waitUntil(() => events.filter(({ type }) => type === 'tool_finished').length === 2);
  controller.abort(new Error('enough'));
  const result = await run;
  assert.equal(result.success, false);
  assert.equal(result.executionMetadata.stopReason, 'aborted');
  assert.deepEqual(
    result.toolChain.map(({ toolName, success }) => [toolName, success]),
    [
      ['desk.note', true],
      ['desk.note', true],
      ['desk.never', false],
    ],
  );
  assert.equal(result.executionMetadata.tokenUsage.totalTokens, 100);
  assert.equal(result.errors.at(-1)?.error, 'Stopped early: enough');
  assert.match(String(result.finalResult), /noted: 42/);
  assert.match(result.summary, /The run was aborted/);
});

test('a timeout ends a run whose provider heeds no signal', async () => {
  const signal = AbortSignal.timeout(600);
  const result = await mcpGhost({
    ...task,
    provider: customProvider(() => new Promise(() => undefined)),
    signal,
  });
  assert.equal(result.executionMetadata.stopReason, 'aborted');
  assert.match(result.errors.at(-1)?.error ?? '', /timeout/i);
  assert.ok(signal.aborted);
});

test('an abort while the servers are being started ends in a result', async () => {
  const controller = new AbortController();
  const run = mcpGhost({
    ...task,
    provider: customProvider(() => undefined),
    serverConfig: {
      mcpServers: { slow: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] } },
    },
    signal: controller.signal,
  });
  controller.abort(new Error('not now'));
  const result = await run;
  assert.equal(result.executionMetadata.stopReason, 'aborted');
  assert.equal(result.finalResult, null);
  await assert.rejects(mcpGhost({ ...task, provider: 'openai', apiKey: 'k', signal: controller.signal }), {
    message: 'not now',
  });
});
