/** Programs of frameworks, recorded with a stand-in of a provider and a real MCP server, and replayed with both gone. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { ROOT } from './consumer.ts';
import type { FreshApps } from './fresh-app.ts';
import { type Plan, PlannedProvider, type Turn } from './planned-provider.ts';
import type { ProgramOutcome } from './programs.ts';
import { tempDir } from './temp-dir.ts';

const SERVER = join(ROOT, 'test/fixtures/tape/server.mjs');

const TURNS: readonly Turn[] = [
  {
    retries: 1,
    retryStatus: 503,
    calls: [
      { tool: 'add', args: { a: 1, b: 2 } },
      { tool: 'slow', args: { a: 20 } },
      { tool: 'fail', args: { a: 3 } },
    ],
  },
  {
    calls: [
      { tool: 'picture', args: {} },
      { tool: 'add', args: { a: 7, b: 1 } },
    ],
  },
  { text: 'the end of it' },
];
const OTHER: readonly Turn[] = [
  { ms: 15, calls: [{ tool: 'add', args: { a: 5, b: 5 } }] },
  { text: 'bye now' },
];

/** Conversations at the same time, of which one is refused, with streams. */
const STREAMED: Plan = { agents: [TURNS, OTHER, [{ status: 400 }]], stream: true };
const ONE_BY_ONE: Plan = { agents: [TURNS.slice(1), OTHER], oneByOne: true };

const DEPARTURES: readonly (readonly [what: string, change: Partial<Plan>, named: RegExp])[] = [
  ['prompt', { prompt: 'You are rude.' }, /request\.body\.messages\[0\]\.content: expected "You are helpful/],
  ['definition', { describe: 'Else' }, /tools\[0\]\.function\.description: expected "Adds", got "Else"/],
  ['argument', { dropArgument: 'b' }, /mcp_cassette\.calls\[\d\]\.arguments\.b: expected 1, got nothing/],
  ['order', { reversed: true }, /provider_responses\[0\]: asked after provider_responses\[\d\]/],
];

/** Asserts that a program of `fixtures/frames` replays alike, and that each departure is named. */
export async function assertTaped(apps: FreshApps, folder: string, program: string): Promise<void> {
  await using provider = await PlannedProvider.start();
  const goldens = tempDir();
  const run = (way: 'record' | 'replay', name: string, plan: Plan): Promise<ProgramOutcome> => {
    const isLive = way === 'record';
    const env = {
      MCP_OBSERVATORY_GOLDEN: join(goldens, `${name}.json`),
      PLAN: JSON.stringify(plan),
      MODEL_URL: isLive ? provider.url : 'http://127.0.0.1:9',
      MCP_SERVER: isLive ? SERVER : '/gone/server.mjs',
    };
    return apps.run(folder, program, { flags: ['--import', `mcp-observatory/${way}`], env });
  };
  const [streamed, oneByOne] = [
    await run('record', 'streamed', STREAMED),
    await run('record', 'one-by-one', ONE_BY_ONE),
  ];
  const [again, ...departed] = await Promise.all([
    run('replay', 'streamed', STREAMED),
    ...DEPARTURES.map(([, change]) => run('replay', 'one-by-one', { ...ONE_BY_ONE, ...change })),
  ]);
  for (const said of [/agent 0 /, /bye/, /agent 2 /]) assert.match(streamed.stdout, said, streamed.stderr);
  assert.deepEqual([again.stdout, again.code], [streamed.stdout, 0], again.stderr);
  assert.equal(oneByOne.code, 0);
  for (const [index, [what, , named]] of DEPARTURES.entries()) {
    assert.equal(departed[index]?.code, 1, what);
    assert.match(departed[index]?.stderr ?? '', named, what);
  }
}
