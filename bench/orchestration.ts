/**
 * Time the orchestrator adds to a tool call, and how its own cost grows.
 *
 * 1. A run of many tool calls, side by side with a bare loop over the official SDKs, the AI SDK and mcp-use, each in its
 *    newest line for Node 20. Each contender runs in its own process, with a tracer provider registered that hands its spans to
 *    an exporter, against the same scripted model and the same MCP server in this process, over loopback, so that only
 *    the contender's CPU time is counted. mcpGhost and the AI SDK record spans; the others have none. Rounds are
 *    interleaved; results are medians and quartiles over the rounds, per tool call; ratios are those of each round.
 * 2. Growth with the number of tools and turns, with a model in this process, so that only the orchestrator is
 *    measured. All tools are offered to the model in each turn, which is checked.
 *
 *   npm run build && node dist/bench/orchestration.js [rounds, default 7]
 *
 * The peers are installed on demand in `bench/peers`, which is not part of the repository.
 */

import { execFileSync, fork } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { mcpGhost } from '../src/golden/index.ts';
import type { Provider } from '../src/orchestrator/index.ts';
import { type ServedMcp, serveMcp, startHttpMcpServer } from '../test/support/http-mcp-server.ts';
import { type Script, ScriptedProvider } from '../test/support/scripted-provider.ts';
import { distribution } from './spread.ts';

const PEERS = join(fileURLToPath(new URL('../../', import.meta.url)), 'bench/peers/orchestration');
/** Installed group by group: one that a registry cannot give takes no part and does not stop the others. */
const PEER_GROUPS: readonly (readonly string[])[] = [
  ['ai@6', '@ai-sdk/openai@3', '@ai-sdk/mcp@1'],
  ['mcp-use@1', '@langchain/openai@1', '@langchain/core@1', 'langchain@1'],
];
const CONTENDERS = ['bare loop', 'mcpGhost', 'AI SDK', 'mcp-use'];
const CALLS = 20;
const RUNS = 5;
const ROUNDS = Number(process.argv[2] ?? 7);

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
  const base = times.get('bare loop') ?? [];
  console.table(
    [...times].map(([contender, list]) => ({
      contender,
      'ms per call': distribution(
        list.map(({ wallMs }) => wallMs),
        2,
      ),
      'CPU ms per call': distribution(
        list.map(({ cpuMs }) => cpuMs),
        2,
      ),
      'CPU ratio to bare': distribution(
        list.map(({ cpuMs }, round) => cpuMs / (base[round]?.cpuMs ?? Number.NaN)),
        2,
      ),
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
function localModel(turns: number, name: string, tools: number): Provider {
  let turn = 0;
  return {
    name: 'local',
    defaultModel: 'local',
    // The one that takes any number of tools.
    toolDialect: 'anthropic',
    createCompletion: (_, offered) => {
      turn += 1;
      if (offered.length < tools) throw new Error(`${offered.length} of ${tools} tools are offered`);
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
    [10_000, 10],
    [10, 100],
    [10, 500],
  ] as const) {
    await using mcp = await serveTools(tools);
    const samples: number[] = [];
    for (let round = 0; round < Math.min(3, ROUNDS); round += 1) {
      samples.push(
        await timed(async () => {
          const result = await mcpGhost({
            serverConfig: { mcpServers: { http: { url: mcp.url } } },
            systemPrompt: '',
            userPrompt: 'add',
            provider: localModel(turns, 'http__add', tools),
            maxIterations: turns + 1,
          });
          if (!result.success) throw new Error(result.summary);
        }),
      );
    }
    rows.push({
      tools,
      turns,
      'CPU ms in all': distribution(samples, 0),
      'CPU ms per turn': distribution(
        samples.map((ms) => ms / turns),
        2,
      ),
    });
  }
  console.table(rows);
}

/** Tools of one page of a list: a message has a limit. */
const PAGE = 500;

/** A server of many tools whose list is made once, so that its own work is next to nothing. */
async function serveTools(count: number): Promise<ServedMcp> {
  const inputSchema = {
    type: 'object' as const,
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  };
  const tools = Array.from({ length: count }, (_, i) => ({
    name: i === 0 ? 'add' : `tool_${i}`,
    description: i === 0 ? 'Adds two numbers' : `Does the work number ${i} with two numbers`,
    inputSchema,
  }));
  return await serveMcp(() => {
    const made = new McpServer({ name: 'http', version: '1.0.0' }, { capabilities: { tools: {} } });
    made.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const from = Number(params?.cursor ?? 0);
      const rest = from + PAGE < count ? { nextCursor: String(from + PAGE) } : {};
      return { tools: tools.slice(from, from + PAGE), ...rest };
    });
    made.server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
      content: [{ type: 'text', text: String(Number(params.arguments?.a) + Number(params.arguments?.b)) }],
    }));
    return made;
  });
}

/** CPU milliseconds. */
async function timed(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

await main();
