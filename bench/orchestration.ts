/**
 * Time the orchestrator adds to a tool call, and how its own cost grows.
 *
 * 1. A run of many tool calls, side by side with a bare loop over the official SDKs, the AI SDK (6 line) and mcp-use
 *    (1.34 line). Each contender runs in its own process against the same scripted model and the same MCP server in
 *    this process, over loopback, so that only the contender's CPU time is counted. Rounds are interleaved; results are
 *    medians over the rounds, per tool call.
 * 2. Growth with the number of tools and turns, with a model in this process, so that only the orchestrator is
 *    measured.
 *
 *   npm run build && node dist/bench/orchestration.js
 *
 * The peers are installed on demand in `bench/peers`, which is not part of the repository.
 */

import { execFileSync, fork } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mcpGhost } from '../src/golden/index.ts';
import type { Provider } from '../src/orchestrator/index.ts';
import { startHttpMcpServer } from '../test/support/http-mcp-server.ts';
import { type Script, ScriptedProvider } from '../test/support/scripted-provider.ts';

const PEERS = join(fileURLToPath(new URL('../../', import.meta.url)), 'bench/peers');
/** Installed group by group: one that a registry cannot give takes no part and does not stop the others. */
const PEER_GROUPS: readonly (readonly string[])[] = [
  ['ai@6', '@ai-sdk/openai@3', '@ai-sdk/mcp@1'],
  ['mcp-use@1.34.6', '@langchain/openai@1', '@langchain/core@1', 'langchain@1'],
];
const CONTENDERS = ['bare loop', 'mcpGhost', 'AI SDK', 'mcp-use'];
const CALLS = 20;
const RUNS = 5;
const ROUNDS = 3;

async function main(): Promise<void> {
  installPeers();
  await compare();
  await growth();
}

interface Times {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function compare(): Promise<void> {
  await using mcp = await startHttpMcpServer();
  const script: Script = (seen) => {
    const results = (seen.body.messages as { role: string }[]).filter(({ role }) => role === 'tool').length;
    const name = seen.toolNames.find((one) => one.endsWith('add')) ?? '';
    return results < CALLS ? { calls: [{ name, arguments: { a: results, b: 1 } }] } : { text: 'done' };
  };
  await using model = await ScriptedProvider.start(script);
  const times = new Map<string, Times[]>(CONTENDERS.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of CONTENDERS) {
      if (!times.has(name)) continue;
      try {
        times.get(name)?.push(await runContender(name, mcp.url, model.baseUrl('openai')));
      } catch (error) {
        // A peer that cannot be installed here takes no part; it must not hide the others' figures.
        console.log((error as Error).message);
        times.delete(name);
      }
      model.play(script);
    }
  }
  const medians = new Map(
    [...times].map(([name, list]): [string, Times] => [
      name,
      { wallMs: median(list.map((one) => one.wallMs)), cpuMs: median(list.map((one) => one.cpuMs)) },
    ]),
  );
  const base = medians.get('bare loop');
  console.table(
    [...medians].map(([contender, { wallMs, cpuMs }]) => ({
      contender,
      'ms per call': wallMs.toFixed(2),
      'CPU ms per call': cpuMs.toFixed(2),
      'CPU ratio to bare': (cpuMs / (base?.cpuMs ?? Number.NaN)).toFixed(2),
    })),
  );
}

function installPeers(): void {
  if (existsSync(join(PEERS, 'node_modules'))) return;
  mkdirSync(PEERS, { recursive: true });
  writeFileSync(join(PEERS, 'package.json'), JSON.stringify({ private: true }));
  // An import from beside the peers, which resolves them as their ES modules.
  writeFileSync(join(PEERS, 'load.mjs'), 'export const load = (name) => import(name);\n');
  for (const group of PEER_GROUPS) {
    try {
      execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', '--ignore-scripts', ...group], {
        cwd: PEERS,
      });
    } catch {
      console.log(`could not install ${group.join(' ')}`);
    }
  }
}

function runContender(name: string, mcpUrl: string, baseUrl: string): Promise<Times> {
  return new Promise((resolve, reject) => {
    const script = fileURLToPath(new URL('./orchestration-contender.js', import.meta.url));
    const child = fork(script, [name, mcpUrl, baseUrl, String(CALLS), String(RUNS)], {
      env: { ...process.env, MCP_USE_ANONYMIZED_TELEMETRY: 'false' },
      silent: true,
    });
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-2_000);
    });
    child.once('message', (times) => resolve(times as Times));
    child.once('error', reject);
    child.once(
      'exit',
      (code) =>
        code !== 0 && reject(new Error(`${name} takes no part: ${/Error: .*/.exec(errors)?.[0] ?? code}`)),
    );
  });
}

/** A model in this process that makes the same call a number of times. */
function localModel(turns: number, name: string): Provider {
  let turn = 0;
  return {
    name: 'local',
    defaultModel: 'local',
    createCompletion: () => {
      turn += 1;
      const done = turn > turns;
      return Promise.resolve({
        message: {
          role: 'assistant',
          parts: done
            ? [{ type: 'text', text: 'done' }]
            : [{ type: 'tool_call', id: `c${turn}`, name, arguments: { a: turn, b: 1 } }],
        },
        finishReason: done ? 'stop' : 'tool_calls',
        usage: { inputTokens: 10, outputTokens: 1 },
        failedAttempts: [],
        wire: { request: null, response: null },
      });
    },
  };
}

async function growth(): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const [tools, turns] of [
    [10, 10],
    [100, 10],
    [1_000, 10],
    [10, 100],
    [10, 500],
  ] as const) {
    await using mcp = await startHttpMcpServer(tools);
    const samples: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      samples.push(
        await timed(async () => {
          const result = await mcpGhost({
            serverConfig: { mcpServers: { http: { url: mcp.url } } },
            systemPrompt: '',
            userPrompt: 'add',
            provider: localModel(turns, 'http__add'),
            maxIterations: turns + 1,
          });
          if (!result.success) throw new Error(result.summary);
        }),
      );
    }
    const total = median(samples);
    rows.push({ tools, turns, 'ms in all': total.toFixed(0), 'ms per turn': (total / turns).toFixed(2) });
  }
  console.table(rows);
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

await main();
