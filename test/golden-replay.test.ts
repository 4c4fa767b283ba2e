import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';
import {
  canonicalRequest,
  fromGoldenInput,
  type GhostOptions,
  type Golden,
  GoldenMismatchError,
  mcpGhost,
  readGolden,
  writeGolden,
} from '../src/golden/index.ts';
import type { JsonObject } from '../src/json/index.ts';
import { recoveryPrompt } from '../src/orchestrator/backtrack.ts';
import type { ModelMessage } from '../src/orchestrator/index.ts';
import { userText } from '../src/orchestrator/providers/index.ts';
import { PROVIDERS as WIRE_PROVIDERS } from '../src/wire/index.ts';
import { chainOf, PROVIDERS, scenarioServer, tryGhost } from './support/ghost.ts';
import { serveMcp, startHttpMcpServer } from './support/http-mcp-server.ts';
import { createScenario } from './support/scenario-tools.ts';
import type { Script } from './support/scripted-provider.ts';
import { sized } from './support/size.ts';

const folder = await mkdtemp(join(tmpdir(), 'golden-replay-'));
after(() => rm(folder, { recursive: true }));

const served = await serveMcp(() => createScenario());
after(() => served[Symbol.asyncDispose]());

const SCRIPT: Script = [
  { calls: [{ name: 'scenario__find_customer', arguments: { id: 'x1' } }] },
  { status: 429, errorType: 'rate_limit_error', text: 'slow down', headers: { 'retry-after-ms': '1' } },
  {
    text: 'Another id.',
    calls: [
      { name: 'scenario__find_customer', arguments: { id: 'C1' } },
      { name: 'scenario__add', arguments: { a: 20, b: 22 } },
    ],
  },
  { text: 'Ada, and 42.' },
];

async function record(provider: string, script: Script = SCRIPT, options: Partial<GhostOptions> = {}) {
  const path = join(folder, `${provider}.json`);
  const trial = await tryGhost(provider, script, {
    serverConfig: { mcpServers: { scenario: { url: served.url } } },
    golden: { mode: 'record', path },
    ...options,
  });
  return { path, ...trial };
}

/** Plays a golden from its own input. */
async function replay(path: string, options: Partial<GhostOptions> = {}) {
  const golden = await readGolden(path);
  return await mcpGhost({ ...fromGoldenInput(golden.input), golden: { mode: 'replay', path }, ...options });
}

for (const { provider } of sized(PROVIDERS.slice(0, 1), PROVIDERS)) {
  test(`${provider}: a run is recorded at the wire and replayed without model, key or server`, async () => {
    const { path, result } = await record(provider);
    const golden = await readGolden(path);
    assert.equal(golden.source, 'scripted', 'a local server is no provider');
    assert.deepEqual(
      golden.provider_responses.map(({ iteration, response }) => [iteration, response.status]),
      [
        [1, 200],
        [2, 429],
        [2, 200],
        [3, 200],
      ],
    );
    assert.equal(golden.mcp_cassette?.calls.length, 3);
    assert.match(golden.versions.sdk?.version ?? '', /^\d+\.\d+\.\d+$/);
    const again = await replay(path);
    assert.deepEqual(chainOf(again), chainOf(result));
    assert.equal(again.finalResult, 'Ada, and 42.');
    assert.deepEqual(again.conversationHistory, result.conversationHistory);
    assert.deepEqual(again.errors, result.errors);
    assert.deepEqual(again.executionMetadata.tokenUsage, result.executionMetadata.tokenUsage);
    assert.equal(again.executionMetadata.modelRetries, 1);
  });
}

test('with live tools the model comes from the file and the servers are real', async () => {
  const { path } = await record(
    'openai',
    (_, index) =>
      index === 0 ? { calls: [{ name: 'scenario__slow_report', arguments: { ms: 1 } }] } : { text: 'done' },
    { serverConfig: { mcpServers: { scenario: scenarioServer() } } },
  );
  const result = await replay(path, { golden: { mode: 'replay', path, tools: 'live' } });
  assert.equal(result.success, true);
  assert.equal(result.toolChain[0]?.result, 'the report');
});

test('with live tools a request is the same whatever a tool said: text, error, image', () => {
  const conversation = (text: string, image: string): readonly ModelMessage[] => [
    userText('Look.'),
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 't', arguments: {} }] },
    {
      role: 'tool',
      parts: [
        {
          type: 'tool_result',
          id: 'c1',
          name: 't',
          content: [
            { type: 'text', text },
            { type: 'image', mimeType: 'image/png', data: image },
          ],
          isError: true,
        },
      ],
    },
    userText(recoveryPrompt([])),
  ];
  const other = conversation('failed at 12:01', 'AAAA').with(-1, userText(`${recoveryPrompt([])} 12:01`));
  for (const { apis } of WIRE_PROVIDERS) {
    for (const { name, writeRequest } of apis) {
      const keyOf = (messages: readonly ModelMessage[], live: object) =>
        canonicalRequest(toRequest(writeRequest({ model: 'gemini-2.5-pro', messages, tools: [] })), live);
      const recorded = conversation('failed at 11:59', 'BBBB');
      assert.deepEqual(keyOf(recorded, { tools: true }), keyOf(other, { tools: true }), name);
      assert.notDeepEqual(keyOf(recorded, {}), keyOf(other, {}), name);
    }
  }
});

const toRequest = (body: unknown) => ({
  method: 'POST',
  path: '/v1/x',
  headers: {},
  body: body as JsonObject,
});

test('with a live model a request is the same whatever the model said, but not for another prompt or result', () => {
  const conversation = (id: string, said: string, prompt: string, result: string): ModelMessage[] => [
    userText(prompt),
    {
      role: 'assistant',
      parts: [
        { type: 'text', text: said },
        { type: 'tool_call', id, name: 't', arguments: { said } },
      ],
    },
    {
      role: 'tool',
      parts: [
        { type: 'tool_result', id, name: 't', content: [{ type: 'text', text: result }], isError: false },
      ],
    },
  ];
  for (const { name, writeRequest } of WIRE_PROVIDERS.flatMap(({ apis }) => apis)) {
    const keyOf = (...parts: Parameters<typeof conversation>) => {
      const messages = conversation(...parts);
      const body = writeRequest({ model: 'gemini-2.5-pro', messages, tools: [] });
      return canonicalRequest(toRequest(body), { model: true });
    };
    const recorded = keyOf('c1', 'I look.', 'Look.', '7');
    assert.deepEqual(keyOf('d2', 'I shall look.', 'Look.', '7'), recorded, name);
    assert.notDeepEqual(keyOf('c1', 'I look.', 'Look!', '7'), recorded, name);
    assert.notDeepEqual(keyOf('c1', 'I look.', 'Look.', '8'), recorded, name);
  }
});

const LOOKUP = fileURLToPath(new URL('../../goldens/openai/chain_of_five_calls.json', import.meta.url));

/** A golden of the library, changed and sealed again. */
async function changed(change: (golden: Golden) => Golden): Promise<string> {
  const path = join(folder, 'changed.json');
  await writeGolden(path, change(await readGolden(LOOKUP)));
  return path;
}

test('a request the golden does not hold fails with the field that differs from the nearest one', async () => {
  await assert.rejects(replay(LOOKUP, { userPrompt: 'Look up C4.' }), (error: unknown) => {
    assert.ok(error instanceof GoldenMismatchError);
    assert.match(
      error.message,
      /provider_responses\[0\]\.request\.body\.messages\[1\].*"Look up C3.*"Look up C4\."/s,
    );
    return true;
  });
});

test('a call the golden does not hold fails with the argument that differs', async () => {
  const path = await changed((golden) => {
    const cassette = golden.mcp_cassette ?? { servers: {}, calls: [] };
    const calls = cassette.calls.map((call, at) =>
      at === 1 ? { ...call, arguments: { a: 7, b: 36 } } : call,
    );
    return { ...golden, mcp_cassette: { ...cassette, calls } };
  });
  await assert.rejects(replay(path), {
    code: 'GOLDEN_MISMATCH',
    message: /call of scenario\.add.*mcp_cassette\.calls\[1\]\.arguments\.b: expected 36, got 35/s,
  });
});

test('what a replay does not use is named', async () => {
  const path = await changed((golden) => ({
    ...golden,
    provider_responses: [...golden.provider_responses, ...golden.provider_responses.slice(0, 1)],
  }));
  await assert.rejects(replay(path), {
    code: 'GOLDEN_MISMATCH',
    message: /did not use.*provider_responses\[6\]/,
  });
});

test('a replay opens no connection and starts no process', async () => {
  const before = globalThis.fetch;
  globalThis.fetch = () => Promise.reject(new Error('the network was touched'));
  try {
    const serverConfig = { mcpServers: { scenario: { command: '/no/such/program' } } };
    assert.equal((await replay(LOOKUP, { serverConfig })).success, true);
  } finally {
    globalThis.fetch = before;
  }
});

test('a run against a model server nobody here wrote, with an MCP server over HTTP, records and replays', async () => {
  const path = join(folder, 'aimock.json');
  const mock = new LLMock({ port: 0 });
  const userPrompt = 'what is 20 and 22?';
  mock.on(
    { userMessage: userPrompt, hasToolResult: false },
    { toolCalls: [{ name: 'http__add', arguments: JSON.stringify({ a: 20, b: 22 }) }] },
  );
  mock.on({ userMessage: userPrompt, hasToolResult: true }, { content: 'It is 42.' });
  await mock.start();
  try {
    await using mcp = await startHttpMcpServer();
    await mcpGhost({
      serverConfig: { mcpServers: { http: { url: mcp.url } } },
      systemPrompt: 'You add.',
      userPrompt,
      provider: 'anthropic',
      model: 'claude-sonnet-5-5',
      apiKey: 'test-key',
      baseUrl: mock.url,
      golden: { mode: 'record', path },
    });
  } finally {
    await mock.stop();
  }
  const result = await replay(path);
  assert.equal(result.finalResult, 'It is 42.');
  assert.equal((await readGolden(path)).source, 'scripted');
});

test('a golden is recorded when the provider itself answered, or the caller vouches for the gateway', async () => {
  const path = join(folder, 'source.json');
  const answer = (await readGolden(LOOKUP)).provider_responses.at(-1)?.response;
  assert.ok(answer?.events);
  const body = answer.events
    .map((event) => ('data' in event ? `data: ${JSON.stringify(event.data)}\n\n` : ''))
    .join('');
  const before = globalThis.fetch;
  globalThis.fetch = () =>
    Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  try {
    const cases = [
      ['https://api.openai.com/v1', undefined, 'recorded'],
      ['http://api.openai.com/v1', undefined, 'scripted'],
      ['https://gateway.example/v1', undefined, 'scripted'],
      ['https://gateway.example/v1', 'recorded', 'recorded'],
    ] as const;
    for (const [baseUrl, source, expected] of cases) {
      await mcpGhost({
        serverConfig: { mcpServers: {} },
        systemPrompt: '',
        userPrompt: 'Hello.',
        provider: 'openai',
        apiKey: 'test-key',
        baseUrl,
        golden: { mode: 'record', path, source, recordedAt: new Date('2026-01-01T00:00:00Z') },
      });
      const golden = await readGolden(path, { allowExpired: true });
      assert.equal(golden.source, expected, baseUrl);
      assert.equal(golden.expires_at, expected === 'recorded' ? '2026-06-30T00:00:00.000Z' : null);
    }
  } finally {
    globalThis.fetch = before;
  }
});

test('a provider that is no name is refused', async () => {
  const provider = {
    name: 'own',
    defaultModel: 'm',
    createCompletion: () => Promise.reject(new Error('no')),
  };
  const options = { serverConfig: { mcpServers: {} }, systemPrompt: '', userPrompt: 'x', provider };
  await assert.rejects(mcpGhost({ ...options, golden: { mode: 'record', path: join(folder, 'no.json') } }), {
    code: 'INVALID_OPTION',
  });
});
