import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { mcpGhost } from '../src/golden/index.ts';
import { toWire } from '../src/orchestrator/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { PROVIDERS, replayGhost, scenarioServer } from './support/ghost.ts';
import { serveMcp } from './support/http-mcp-server.ts';
import { createScenario } from './support/scenario-tools.ts';
import type { SeenRequest } from './support/scripted-request.ts';
import { sized } from './support/size.ts';

const scenario = await serveMcp(() => createScenario());
const serverConfig = { mcpServers: { scenario: { url: scenario.url } } };
const ADD = { name: 'scenario__add', arguments: { a: 1, b: 2 } };
let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'limits-'));
});
after(async () => {
  await scenario[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function mayCall(seen: SeenRequest): boolean {
  const { tool_choice: choice, toolConfig } = seen.body as {
    tool_choice?: string | { type: string };
    toolConfig?: { functionCallingConfig: { mode: string } };
  };
  const said = typeof choice === 'object' ? choice.type : (choice ?? toolConfig?.functionCallingConfig.mode);
  return said?.toLowerCase() !== 'none';
}

for (const { provider } of sized(PROVIDERS.slice(0, 1), PROVIDERS)) {
  test(`${provider}: at the limit of turns the model answers from what it knows`, async () => {
    const { result, model, events } = await replayGhost(
      'limits/turns',
      provider,
      (seen, index) =>
        mayCall(seen)
          ? { calls: [{ name: 'scenario__add', arguments: { a: index, b: 1 } }] }
          : { text: 'so far: 3' },
      { serverConfig, maxIterations: 3 },
    );
    assert.deepEqual(model.refused, []);
    assert.equal(result.success, false);
    assert.equal(result.finalResult, 'so far: 3');
    assert.equal(result.executionMetadata.stopReason, 'max_iterations');
    assert.equal(result.executionMetadata.totalIterations, 3);
    assert.equal(result.toolChain.length, 3);
    assert.equal(model.requests.length, 4);
    assert.ok(events.some((event) => event.type === 'limit_reached'));
  });

  test(`${provider}: the same call with the same result is warned about, then stopped`, async () => {
    const { result, model, events } = await replayGhost(
      'limits/same_call',
      provider,
      (seen) => (mayCall(seen) ? { calls: [ADD] } : { text: 'three' }),
      { serverConfig, maxIterations: 50 },
    );
    assert.deepEqual(model.refused, []);
    assert.equal(result.toolChain.length, 5);
    assert.equal(result.executionMetadata.stopReason, 'loop');
    assert.equal(result.finalResult, 'three');
    const decisions = events.flatMap((event) => (event.type === 'loop' ? [event.decision] : []));
    assert.deepEqual(decisions, ['warn', 'stop']);
    assert.match(model.requests[3]?.text ?? '', /same call with the same arguments/);
  });

  test(`${provider}: a long conversation is summarised and stays acceptable; marked facts survive word for word`, async () => {
    const { result, model } = await replayGhost(
      'limits/long_conversation',
      provider,
      (seen, index) => {
        if (seen.toolNames.length === 0) return { text: 'Earlier: some additions.' };
        if (index >= 16) return { text: 'finished' };
        return {
          reasoning: `thinking ${index}`,
          text: index === 1 ? 'hm\n[critical] the vault code is 7-3-9\n' : `turn ${index}`,
          calls: [{ name: 'scenario__flood', arguments: { chars: 400 + index } }],
          usage: { input: Math.ceil(seen.text.length / 4), output: 10 },
        };
      },
      { serverConfig, maxIterations: 30, maxContextTokens: 1_000, keepTurns: 2 },
    );
    assert.deepEqual(model.refused, [], 'no call lost its result, no thinking its signature');
    assert.equal(result.success, true, result.summary);
    assert.ok(result.executionMetadata.compactions >= 1);
    const last = model.requests.at(-1);
    assert.match(last?.text ?? '', /the vault code is 7-3-9/);
    assert.match(last?.text ?? '', /Summary of the work so far/);
    assert.ok((last?.text.length ?? 0) < 12_000, 'the request stays small');
    assert.match(last?.text ?? '', /Do the task/, 'the task stays');
    assert.ok(result.conversationHistory.length > 20, 'the caller gets the whole conversation');
    const used = result.executionMetadata.tokenUsage;
    assert.ok(used.totalTokens > 0 && used.callsWithoutUsage === 0);
  });

  test(`${provider}: a model that cannot be reached ends the run with what there is`, async () => {
    const { result } = await replayGhost(
      'limits/model_gone',
      provider,
      (_, index) => (index === 0 ? { calls: [ADD] } : { status: 500, text: 'down' }),
      { serverConfig },
    );
    assert.equal(result.success, false);
    assert.equal(result.executionMetadata.stopReason, 'provider_failed');
    assert.equal(result.finalResult, '3', 'the latest good result');
    assert.match(result.errors.at(-1)?.error ?? '', /after 2 tries/);
    assert.equal(result.executionMetadata.modelRetries, 1);
  });
}

test('an answer cut by the output limit is continued and put together', async () => {
  const { result } = await replayGhost(
    'limits/answer_cut',
    'anthropic',
    [{ text: 'One, two, ', truncated: true }, { text: 'three.' }],
    { serverConfig },
  );
  assert.equal(result.finalResult, 'One, two, three.');
  assert.equal(result.success, true);
});

test('an empty answer is asked about once', async () => {
  const { result } = await replayGhost(
    'limits/empty_answer',
    'openai',
    [{ calls: [ADD] }, { text: '' }, { text: '3' }],
    {
      serverConfig,
    },
  );
  assert.equal(result.finalResult, '3');
  const silent = await replayGhost('limits/empty_answer_twice', 'openai', [{ text: '' }, { text: '' }], {
    serverConfig,
  });
  assert.equal(silent.result.success, false);
  assert.equal(silent.result.executionMetadata.stopReason, 'model_stopped');
});

test('a token budget stops the run cleanly, without one more model call', async () => {
  const { result, model } = await replayGhost(
    'limits/token_budget',
    'openai',
    (_, index) => ({
      calls: [{ ...ADD, arguments: { a: index, b: 1 } }],
      usage: { input: 400, output: 100 },
    }),
    { serverConfig, maxTokens: 1_000 },
  );
  assert.equal(model.requests.length, 2);
  assert.equal(result.executionMetadata.stopReason, 'budget');
  assert.equal(result.executionMetadata.tokenUsage.totalTokens, 1_000);
  assert.equal(result.finalResult, '2');
});

test('a run on a model of the price list says what it cost', async () => {
  const { result } = await replayGhost(
    'limits/price_list',
    'openai',
    [{ text: 'ok', usage: { input: 1_000, output: 100 } }],
    {
      serverConfig: { mcpServers: {} },
      model: 'gpt-4o-mini',
      maxCostUsd: 1,
    },
  );
  assert.equal(result.success, true);
  // 1,000 tokens at $0.15 and 100 at $0.60 for a million.
  assert.ok(
    Math.abs((result.executionMetadata.costUsd ?? 0) - 0.00021) < 1e-9,
    String(result.executionMetadata.costUsd),
  );
});

test('a cost budget counts with the prices it is given', async () => {
  const { result } = await replayGhost(
    'limits/cost_budget',
    'openai',
    (_, index) => ({ calls: [{ ...ADD, arguments: { a: index, b: 1 } }] }),
    {
      serverConfig,
      maxCostUsd: 0.03,
      priceOf: (_provider, _model, usage) => (usage.inputTokens ?? 0) / 10_000,
    },
  );
  assert.equal(result.executionMetadata.stopReason, 'budget');
  assert.equal(result.toolChain.length, 3);
  assert.ok(Math.abs((result.executionMetadata.costUsd ?? 0) - 0.03) < 1e-12);
});

test('without memory the model sees the task and the last turn alone', async () => {
  const { result, model } = await replayGhost(
    'limits/without_memory',
    'anthropic',
    [
      { text: 'first words', calls: [ADD] },
      { text: 'second words', calls: [{ name: 'scenario__add', arguments: { a: 5, b: 5 } }] },
      { text: 'ten' },
    ],
    { serverConfig, conversationMemory: false },
  );
  assert.deepEqual(model.refused, []);
  assert.equal(result.success, true);
  assert.doesNotMatch(model.requests[2]?.text ?? '', /first words/);
  assert.match(model.requests[2]?.text ?? '', /second words/);
});

test('a plan is made first and becomes part of the task', async () => {
  const { result, model } = await replayGhost(
    'limits/plan',
    'gemini',
    [{ text: '1. add\n2. answer' }, { calls: [ADD] }, { text: '3' }],
    { serverConfig, plan: true },
  );
  assert.equal(result.plan, '1. add\n2. answer');
  assert.match(model.requests[1]?.text ?? '', /Your plan/);
  assert.equal(mayCall(model.requests[0] as SeenRequest), false);
  assert.equal(result.success, true);
});

test('results of read-only tools are used again when asked to, until something is written', async () => {
  const search = { name: 'scenario__search_customer', arguments: { name: 'Ada' } };
  const { result } = await replayGhost(
    'limits/tool_cache',
    'openai',
    [{ calls: [search] }, { calls: [search] }, { calls: [ADD] }, { calls: [search] }, { text: 'ok' }],
    { serverConfig: { mcpServers: { scenario: scenarioServer(join(folder, 'cache')) } }, toolCache: true },
  );
  assert.deepEqual(
    result.toolChain.map((entry) => entry.cached),
    [false, true, false, false],
  );
  assert.deepEqual(
    [0, 1, 3].map((at) => result.toolChain[at]?.result),
    ['found customer Ada, call 1', 'found customer Ada, call 1', 'found customer Ada, call 2'],
  );
});

test('a gate with rules of its own hides tools, stops calls, withholds results, and denies when they throw', async () => {
  const tools = ['add', 'flood', 'unlock'];
  using gate = new PolicyGate({
    policy: {
      version: 1,
      rules: [{ id: 'r', effect: 'allow', server: 'scenario', tool: tools }],
      outputs: { scenario: { flood: { text: 'ignore' } } },
    },
    outputTypes: { scenario: { flood: { safeParse: () => ({ success: false }) } } },
    decisionPoint: {
      decide: async ({ tool }) => {
        if (tool === 'unlock') throw new Error('secret detail');
        return tool === 'add' ? { decision: 'deny', message: 'no sums' } : { decision: 'allow' };
      },
    },
  });
  const { result, model } = await replayGhost(
    'limits/gate',
    'openai',
    [
      { calls: [{ name: 'scenario__wipe' }, ADD, { name: 'scenario__flood', arguments: { chars: 10 } }] },
      { calls: [{ name: 'scenario__unlock' }] },
      { text: 'understood' },
    ],
    {
      serverConfig,
      gate,
      audit: false,
    },
  );
  assert.ok(!model.requests[0]?.toolNames.includes('scenario__wipe'));
  assert.deepEqual(
    result.toolChain.map((entry) => entry.success),
    [false, false, false, false],
  );
  assert.match(result.toolChain[0]?.error ?? '', /not_allowlisted/);
  assert.match(result.toolChain[1]?.error ?? '', /decision_point_denied\): no sums/);
  assert.match(result.toolChain[2]?.error ?? '', /was made and took effect; .* withheld \(output_/);
  assert.doesNotMatch(JSON.stringify(result), /BEGINxx/, 'what is withheld is nowhere');
  assert.match(result.toolChain[3]?.error ?? '', /decision_point_failed/);
  assert.doesNotMatch(JSON.stringify(result), /secret detail/);
});

test('bad input is a typed error before anything starts', async () => {
  const good = { serverConfig, systemPrompt: '', userPrompt: 'x', provider: 'openai', apiKey: 'k' };
  await assert.rejects(mcpGhost({ ...good, provider: 'nobody' }), { code: 'INVALID_OPTION' });
  await assert.rejects(mcpGhost({ ...good, userPrompt: ' ' }), { code: 'INVALID_OPTION' });
  // Ignored, these would be a run without its gate and one without its budget.
  await assert.rejects(mcpGhost({ ...good, gates: {} } as never), { message: /nearest is 'gate'/ });
  await assert.rejects(mcpGhost({ ...good, max_cost_usd: 1 } as never), {
    message: /nearest is 'maxCostUsd'/,
  });
  await assert.rejects(mcpGhost({ ...good, maxIterations: 0 }), { code: 'INVALID_OPTION' });
  await assert.rejects(mcpGhost({ ...good, maxCostUsd: 1, model: 'nobody-knows-this' }), {
    code: 'INVALID_OPTION',
  });
  await assert.rejects(mcpGhost({ ...good, breaker: { failureThreshold: 0 } }), { code: 'INVALID_OPTION' });
  await assert.rejects(mcpGhost({ ...good, loop: { stopafter: 3 } as object }), { code: 'INVALID_OPTION' });
  await assert.rejects(mcpGhost({ ...good, timeout: Number.NaN }), { code: 'INVALID_OPTION' });
  await assert.rejects(mcpGhost({ ...good, serverConfig: { mcpServers: { a: { args: [] } } } }), {
    code: 'INVALID_SERVER_CONFIG',
  });
});

test('a listener that throws does not disturb the run', async () => {
  const { result } = await replayGhost('limits/listener_throws', 'openai', [{ text: 'fine' }], {
    serverConfig: { mcpServers: {} },
    onEvent: () => {
      throw new Error('boom');
    },
  });
  assert.equal(result.finalResult, 'fine');
});

test('the wire form keeps to its schema and never renames user data', async () => {
  const schema = JSON.parse(readFileSync('schema/ghost-result.schema.json', 'utf8')) as object;
  const validate = new Ajv2020({ allowUnionTypes: true }).compile(schema);
  const { result } = await replayGhost(
    'limits/wire_form',
    'anthropic',
    [
      { calls: [{ name: 'scenario__add', arguments: { a: 1, b: 2, camelCase: { innerName: 1 } } }] },
      { calls: [{ name: 'scenario__find_customer', arguments: { id: 'x' } }] },
      { text: 'ok' },
    ],
    { serverConfig: { mcpServers: { ...serverConfig.mcpServers, gone: { command: '/no/such' } } } },
  );
  const wire = JSON.parse(JSON.stringify(toWire(result))) as unknown;
  assert.ok(validate(wire), JSON.stringify(validate.errors));
  assert.match(JSON.stringify(wire), /"camelCase":\{"innerName":1\}/);
});
