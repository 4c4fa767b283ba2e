import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { mcpGhost } from '../src/golden/index.ts';
import { PROVIDERS, scenarioServer } from './support/ghost.ts';
import { startHttpMcpServer } from './support/http-mcp-server.ts';
import { type Script, ScriptedProvider } from './support/scripted-provider.ts';

const WINDOWS = 4;
const RUNS_IN_WINDOW = 100;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What keeps the process alive or holds the system's resources, by kind. */
function open(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

async function quiet(): Promise<void> {
  // Sockets close on later turns of the event loop.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
}

test(`${WINDOWS * RUNS_IN_WINDOW} runs in a row leave memory flat and nothing open`, {
  timeout: 120_000,
}, async (t) => {
  await using mcp = await startHttpMcpServer();
  const script: Script = (seen) =>
    seen.lastResults.length === 0
      ? { calls: [{ name: 'http__add', arguments: { a: 1, b: 2 } }] }
      : { text: 'done' };
  await using model = await ScriptedProvider.start(script);
  const controller = new AbortController();
  const once = async (provider: string) => {
    const result = await mcpGhost({
      serverConfig: { mcpServers: { http: { url: mcp.url } } },
      systemPrompt: 'x'.repeat(10_000),
      userPrompt: 'add',
      provider,
      apiKey: 'k',
      baseUrl: model.baseUrl(provider),
      // One signal for all runs: listeners left on it would add up.
      signal: controller.signal,
    });
    assert.equal(result.success, true, result.summary);
    model.play(script);
    mcp.metas.length = 0;
  };
  const names = PROVIDERS.map(({ provider }) => provider);
  const runs = async (count: number) => {
    for (let at = 0; at < count; at += 1) await once(names[at % names.length] as string);
    await quiet();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const heaps: number[] = [await runs(RUNS_IN_WINDOW)];
  for (let window = 0; window < WINDOWS; window += 1) heaps.push(await runs(RUNS_IN_WINDOW));
  const growth = heaps.slice(1).map((heap, at) => (heap - (heaps[at] as number)) / RUNS_IN_WINDOW);
  t.diagnostic(`heap grew by ${growth.map(Math.round).join(', ')} bytes a run`);
  // What a run leaves shows in every window; compiled code and caches, which end, in some. A prompt has 10,000 bytes.
  assert.ok(Math.min(...growth) < 2_500, `${growth} bytes a run`);
  assert.equal(open().Timeout ?? 0, 0, JSON.stringify(open()));
});

test('whatever way a run ends, no process, socket or timer is left', { timeout: 60_000 }, async () => {
  const before = open();
  const ends: { readonly script: Script; readonly abort?: boolean }[] = [
    { script: [{ calls: [{ name: 's__add', arguments: { a: 1, b: 2 } }] }, { text: 'ok' }] },
    { script: [{ calls: [{ name: 's__die' }] }, { text: 'ok' }] },
    { script: [{ calls: [{ name: 's__never' }] }, { text: 'ok' }] },
    { script: [{ status: 401, text: 'no' }] },
    { script: [{ calls: [{ name: 's__never' }] }], abort: true },
    { script: [{ hang: true }], abort: true },
  ];
  for (const { script, abort } of ends) {
    const model = await ScriptedProvider.start(script);
    const controller = new AbortController();
    const run = mcpGhost({
      serverConfig: { mcpServers: { s: scenarioServer() } },
      systemPrompt: '',
      userPrompt: 'go',
      provider: 'openai',
      apiKey: 'k',
      baseUrl: model.baseUrl('openai'),
      timeout: abort === true ? 30 : 0.2,
      signal: controller.signal,
      onEvent: (event) => {
        if (abort === true && event.type === 'iteration_started') setTimeout(() => controller.abort(), 150);
      },
    });
    if (abort === true) assert.equal((await run).executionMetadata.stopReason, 'aborted');
    else await run;
    await model.close();
  }
  await quiet();
  const after = open();
  for (const kind of ['ProcessWrap', 'PipeWrap', 'Timeout', 'TCPServerWrap']) {
    assert.ok((after[kind] ?? 0) <= (before[kind] ?? 0), `${kind}: ${JSON.stringify({ before, after })}`);
  }
});
