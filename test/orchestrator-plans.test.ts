// biome-ignore-all lint/suspicious/noThenProperty: the steps of plans have a `then`, which is a list
/** Providers chosen by the task and changed when one fails, plans that callers declare, and calls that can be undone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpGhost } from '../src/golden/index.ts';
import {
  type GhostEvent,
  type PlanStep,
  type RunOptions,
  registerProvider,
} from '../src/orchestrator/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { answersServer, anyTool, textResult } from './support/answers.ts';
import { tryGhost } from './support/ghost.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';

const UNDO = {
  _meta: { 'mcp-observatory.dev/undo': { tool: 'cancel', arguments: { id: '$result.order.id' } } },
};
const BY_ID = { inputSchema: { type: 'object', properties: { id: { type: 'string' } } } };
const shop = () => ({
  mcpServers: {
    shop: answersServer({
      tools: [
        anyTool('stock'),
        anyTool('order', UNDO),
        anyTool('cancel', BY_ID),
        anyTool('mail'),
        anyTool('broken'),
      ],
      results: {
        stock: [{ content: [], structuredContent: { item: 'tea', left: 3, rows: [{ sku: 'T-1' }] } }],
        order: [{ content: [], structuredContent: { order: { id: 'O-7' } } }],
        cancel: [textResult('cancelled')],
        mail: [textResult('sent')],
        broken: [textResult('no connection', true)],
      },
    }),
  },
});
const task = { systemPrompt: '', userPrompt: 'Order tea.' };
const call = (name: string, args: Record<string, unknown> = {}) => ({
  name: `shop__${name}`,
  arguments: args,
});
const retry = { maxAttempts: 1 };

test('when a provider fails for good, the next of the list goes on with the conversation', async () => {
  await using failing = await ScriptedProvider.start([
    { calls: [call('stock')] },
    { status: 500, text: 'down' },
  ]);
  await using helping = await ScriptedProvider.start([
    { calls: [call('mail')] },
    { text: 'Three are left.' },
  ]);
  const events: GhostEvent[] = [];
  const result = await mcpGhost({
    ...task,
    serverConfig: shop(),
    retry,
    provider: [
      { provider: 'openai', apiKey: 'k', baseUrl: failing.baseUrl('openai'), model: 'gpt-5.4-mini' },
      {
        provider: 'gemini',
        apiKey: 'k',
        baseUrl: helping.baseUrl('gemini'),
        model: 'gemini-3-flash-preview',
      },
    ],
    onEvent: (event) => events.push(event),
  });
  assert.deepEqual([failing.refused, helping.refused], [[], []], 'the other API accepts the conversation');
  assert.equal(result.finalResult, 'Three are left.');
  assert.equal(result.success, true);
  assert.equal(result.executionMetadata.provider, 'gcp.gemini');
  assert.deepEqual(
    result.errors.map(({ toolName, recoveryAction }) => [toolName, recoveryAction]),
    [['openai', 'other_provider']],
  );
  assert.match(helping.requests[0]?.text ?? '', /tea/, 'the results so far go along');
  const changed = events.find(({ type }) => type === 'provider_changed');
  assert.deepEqual(changed && 'to' in changed && [changed.from, changed.to], ['openai', 'gcp.gemini']);
});

test('a function chooses by the task; the last provider that fails ends the run', async () => {
  await using small = await ScriptedProvider.start([{ text: 'small' }]);
  await using large = await ScriptedProvider.start([{ status: 401, text: 'no' }]);
  const reach = (model: ScriptedProvider, provider: string) => ({
    provider,
    apiKey: 'k',
    baseUrl: model.baseUrl(provider),
  });
  const run = (userPrompt: string) =>
    mcpGhost({
      ...task,
      userPrompt,
      serverConfig: { mcpServers: {} },
      retry,
      provider: async ({ userPrompt: asked }) =>
        asked.includes('prove') ? reach(large, 'anthropic') : reach(small, 'openai'),
    });
  assert.equal((await run('say hello')).finalResult, 'small');
  const failed = await run('prove it');
  assert.equal(failed.executionMetadata.stopReason, 'provider_failed');
  assert.equal(failed.executionMetadata.provider, 'anthropic');
});

test('a provider whose factory throws is left out of a list, and named; alone, its error is thrown', async (t) => {
  await using helping = await ScriptedProvider.start([{ text: 'Three are left.' }]);
  const undo = registerProvider('absent', () => {
    throw new Error('no model file');
  });
  t.after(undo);
  const other = { provider: 'openai', apiKey: 'k', baseUrl: helping.baseUrl('openai') };
  const run = (provider: RunOptions['provider']) =>
    mcpGhost({ ...task, serverConfig: { mcpServers: {} }, retry, provider });
  const result = await run(['absent', other]);
  assert.equal(result.finalResult, 'Three are left.');
  assert.deepEqual(
    result.errors.map(({ error }) => error),
    ['absent: no model file'],
  );
  for (const alone of ['absent', ['absent'], ['absent', 'absent']]) {
    await assert.rejects(run(alone), /^Error: no model file$/);
  }
});

test('lists of providers that cannot be used are refused', async () => {
  const run = (provider: unknown, more: object = {}) =>
    mcpGhost({ ...task, serverConfig: { mcpServers: {} }, provider: provider as string, ...more });
  for (const provider of [[], [{}], [7], () => [], 7, null]) {
    await assert.rejects(run(provider), { code: 'INVALID_OPTION' });
  }
  await assert.rejects(run(['openai'], { apiKey: 'k' }), { code: 'INVALID_OPTION' });
  await assert.rejects(run(['openai'], { golden: { mode: 'record', path: '/tmp/never.json' } }), {
    code: 'INVALID_OPTION',
  });
});

test('a declared plan is followed, with its conditions, before the model is asked once', async () => {
  const plan: PlanStep[] = [
    { id: 'stock', tool: 'shop.stock', arguments: { item: 'tea' } },
    {
      if: { from: 'stock', path: 'left', below: 5 },
      then: [
        {
          id: 'order',
          tool: 'shop.order',
          arguments: { sku: { from: 'stock', path: 'rows[0].sku' }, count: 10 },
        },
        { if: { from: 'order', path: 'order.id', exists: false }, then: [{ tool: 'shop.broken' }] },
      ],
      else: [{ tool: 'shop.broken' }],
    },
    { id: 'again', tool: 'shop.broken' },
    { if: { from: 'again', failed: true }, then: [{ tool: 'shop.mail', arguments: { text: 'failed' } }] },
  ];
  const { result, model } = await tryGhost('anthropic', [{ text: 'Ordered O-7.' }], {
    serverConfig: shop(),
    plan,
  });
  assert.equal(model.requests.length, 1, 'the model answers, and is asked nothing else');
  assert.deepEqual(
    result.toolChain.map(({ toolName, arguments: args, success }) => [toolName, args, success]),
    [
      ['shop.stock', { item: 'tea' }, true],
      ['shop.order', { sku: 'T-1', count: 10 }, true],
      ['shop.broken', {}, false],
      ['shop.mail', { text: 'failed' }, true],
    ],
  );
  assert.match(model.requests[0]?.text ?? '', /2\. shop\.order .*O-7/);
  assert.equal(result.finalResult, 'Ordered O-7.');
  const stopped = await tryGhost('openai', [{ text: 'It failed.' }], {
    serverConfig: shop(),
    plan: [{ tool: 'shop.broken' }, { tool: 'shop.mail' }],
  });
  assert.deepEqual(
    stopped.result.toolChain.map(({ toolName }) => toolName),
    ['shop.broken'],
  );
  assert.match(stopped.model.requests[0]?.text ?? '', /The plan ended there/);
});

test('a plan that cannot be followed is refused, with its place', async () => {
  const run = (plan: unknown) =>
    mcpGhost({
      ...task,
      serverConfig: { mcpServers: {} },
      provider: 'openai',
      apiKey: 'k',
      plan: plan as PlanStep[],
    });
  for (const [plan, place] of [
    [[{ tool: 'mail' }], 'plan[0].tool'],
    [[{ if: { from: 'x', exists: true }, then: [] }], 'plan[0].if.from'],
    [
      [
        { id: 'a', tool: 's.t' },
        { if: { from: 'a' }, then: [] },
      ],
      'plan[1].if',
    ],
    [[{ tool: 's.t', arguments: { x: { from: 'later' } } }], 'plan[0].arguments.x.from'],
  ] as const) {
    await assert.rejects(run(plan), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_OPTION');
      assert.ok(error.message.includes(`\`${place}\``), error.message);
      return true;
    });
  }
  await assert.rejects(run({}), { code: 'INVALID_OPTION', message: /'plan' of mcpGhost\(\)/ });
});

test('what a run did is offered to be undone, and is not undone by itself', async () => {
  const script = [{ calls: [call('order'), call('mail', { to: 'a' })] }, { text: 'ok' }];
  const undo = {
    tools: { 'shop.mail': { tool: 'shop.mail', arguments: { to: '$arguments.to', text: 'sorry' } } },
  };
  const { result } = await tryGhost('openai', script, { serverConfig: shop(), undo });
  assert.deepEqual(result.undo, [
    { step: 1, toolName: 'shop.mail', arguments: { to: 'a', text: 'sorry' }, done: null },
    { step: 0, toolName: 'shop.cancel', arguments: { id: 'O-7' }, done: null },
  ]);
  assert.equal(result.toolChain.length, 2);
  await assert.rejects(
    mcpGhost({ ...task, serverConfig: shop(), provider: 'openai', apiKey: 'k', undo: { automatic: true } }),
    { code: 'INVALID_OPTION' },
  );
});

test('automatic undo happens only when a run fails, and only as far as the policy allows', async () => {
  const script = [{ calls: [call('order')] }, { status: 500, text: 'down' }, { status: 500, text: 'down' }];
  for (const allowed of [true, false]) {
    using gate = new PolicyGate({
      policy: {
        version: 1,
        rules: [
          { id: 'r', effect: 'allow', server: 'shop', tool: allowed ? ['order', 'cancel'] : ['order'] },
        ],
      },
    });
    const { result } = await tryGhost('openai', script, {
      serverConfig: shop(),
      gate,
      audit: false,
      undo: { automatic: true },
    });
    assert.equal(result.executionMetadata.stopReason, 'provider_failed');
    assert.deepEqual(
      result.undo.map(({ done }) => done),
      [allowed],
    );
    assert.deepEqual(
      result.toolChain.map(({ toolName, success }) => [toolName, success]),
      [
        ['shop.order', true],
        ['shop.cancel', allowed],
      ],
    );
  }
});
