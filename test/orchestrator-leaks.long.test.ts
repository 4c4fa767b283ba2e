import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { mcpGhost } from '../src/golden/index.ts';
import { PROVIDERS, scenarioServer } from './support/ghost.ts';
import { startHttpMcpServer } from './support/http-mcp-server.ts';
import { type Script, ScriptedProvider } from './support/scripted-provider.ts';

const MAX_WINDOWS = 12;
const RUNS_IN_WINDOW = 100;
/** A run that leaves its prompt, of 10,000 bytes, grows by more than this in each window. */
const MAX_GROWTH_BYTES = 2_500;

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

test('hundreds of runs in a row leave memory flat and nothing open', {
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
  // What a run leaves shows in every window. Compiled code and caches grow too, and end after some.
  const growth: number[] = [];
  for (let heap = await runs(RUNS_IN_WINDOW); growth.length < MAX_WINDOWS; ) {
    const next = await runs(RUNS_IN_WINDOW);
    growth.push((next - heap) / RUNS_IN_WINDOW);
    heap = next;
    if ((growth.at(-1) as number) < MAX_GROWTH_BYTES) break;
  }
  t.diagnostic(`heap grew by ${growth.map(Math.round).join(', ')} bytes a run`);
  assert.ok((growth.at(-1) as number) < MAX_GROWTH_BYTES, `${growth} bytes a run`);
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
