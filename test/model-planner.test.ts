/** `PolicyHost` with its planner on the three providers, at the wire. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { replayGolden } from '../src/golden/index.ts';
import { modelPlanner } from '../src/orchestrator/index.ts';
import { connectPolicyServer, PolicyGate, PolicyHost } from '../src/policy/index.ts';
import { ALLOWLIST, FETCH, serveShelf } from './support/example-servers.ts';
import { PROVIDERS } from './support/ghost.ts';
import { type Script, ScriptedProvider } from './support/scripted-provider.ts';
import { Telemetry } from './support/telemetry.ts';

const shelf = await serveShelf('mcp-sharepoint');
after(() => shelf[Symbol.asyncDispose]());

async function plannerOn(provider: string, model: string, script: Script) {
  const server = await ScriptedProvider.start(script);
  const planner = await modelPlanner({
    provider,
    model,
    apiKey: 'test-key',
    baseUrl: server.baseUrl(provider),
  });
  return { server, planner };
}

for (const { provider, model } of PROVIDERS) {
  test(`${provider}: one question is one request for a plan and one for a summary, and the step goes on from them`, async () => {
    const bullet = { claim: 'Never log secrets', evidence: 'Never log secrets.' };
    const { server, planner } = await plannerOn(provider, model, (seen) => {
      if (seen.text.includes('SOURCE'))
        return {
          text: JSON.stringify({ type: 'summary', bullets: [bullet], risks: [], recommendations: [] }),
        };
      return { text: JSON.stringify(FETCH) };
    });
    await using _server = server;
    await using host = await PolicyHost.open({
      gate: new PolicyGate({ policy: ALLOWLIST }),
      planner,
      servers: { 'mcp-sharepoint': await connectPolicyServer({ url: shelf.url }) },
      audit: false,
    });
    const plain = await host.askOnce('Show SharePoint doc sp-001');
    assert.equal(plain.type, 'tool_result');
    assert.equal(server.requests.length, 1);
    assert.deepEqual(server.requests[0]?.toolNames, [], 'the model has no tool of its own');
    const summarised = await host.askOnce('Summarize SharePoint doc sp-001');
    assert.match(summarised.type, /^tool_result/);
    assert.equal(server.requests.length, 3);
    assert.deepEqual(server.refused, []);
  });

  test(`${provider}: a failing model is a typed error after one request`, async () => {
    const { server, planner } = await plannerOn(provider, model, [
      { status: 500, text: 'secret detail' },
      {},
    ]);
    await using _server = server;
    await assert.rejects(
      planner.plan([{ role: 'user', content: 'hi' }]),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'PLANNER_FAILED');
        assert.doesNotMatch(error.message, /secret detail/);
        return true;
      },
    );
    assert.equal(server.requests.length, 1, 'no hidden retry');
    await assert.rejects(planner.plan([{ role: 'user', content: 'hi' }]), { code: 'PLANNER_FAILED' });
  });
}

test('the policy step of a golden has the planner of any other step, with its chat span', async () => {
  const telemetry = new Telemetry();
  try {
    const path = fileURLToPath(new URL('../../goldens/shared/policy_allowed_call.json', import.meta.url));
    assert.deepEqual((await replayGolden(path)).findings, []);
    const spans = telemetry.spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'chat');
    assert.equal(spans.length, 1);
  } finally {
    await telemetry.shutdown();
  }
});

test('a model that never answers ends the question in time', async () => {
  await using server = await ScriptedProvider.start(() => ({ hang: true }));
  const planner = await modelPlanner({ baseUrl: server.baseUrl('openai'), timeoutMs: 100 });
  await assert.rejects(planner.plan([{ role: 'user', content: 'hi' }]), { code: 'PLANNER_FAILED' });
});

test('an OpenAI-compatible endpoint of one’s own needs no key', async () => {
  await using server = await ScriptedProvider.start([{ text: 'a plan' }]);
  const planner = await modelPlanner({ model: 'local', baseUrl: server.baseUrl('openai') });
  assert.equal(await planner.plan([{ role: 'user', content: 'hi' }]), 'a plan');
});

test('a timeout that is none is refused by name', async () => {
  await assert.rejects(modelPlanner({ apiKey: 'k', timeoutMs: Number.NaN }), {
    code: 'INVALID_OPTION',
    message: /timeoutMs.*NaN/,
  });
});
