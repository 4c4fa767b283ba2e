// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
/**
 * Applications as strangers have them, made from the packed package, alone and beside other observability packages: with us
 * they answer, print and end as without us, what they traced keeps its place, and each call is stored and counted once.
 * The other packages take turns; `OBSERVATORY_TEST_SIZE=million` tries all beside each.
 */
import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { cp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startCollector } from '../../src/collector/index.ts';
import { openDatabase, refreshRollups } from '../../src/postgres/index.ts';
import { ROOT } from '../support/consumer.ts';
import { freePort } from '../support/free-port.ts';
import { FreshApps } from '../support/fresh-app.ts';
import { LambdaEmulator } from '../support/lambda-emulator.ts';
import { type CollectedSpan, OtlpCollector } from '../support/otlp-collector.ts';
import { noPostgres, type PostgresServer, startQuietPostgres } from '../support/postgres-server.ts';
import { exportingTo, outcomeOf, PATIENT, type ProgramOutcome } from '../support/programs.ts';
import { ORPHANS, type Peer, REQUESTS, SET_UP_PACKAGES, SET_UPS, type SetUp } from '../support/set-ups.ts';
import { everyOther } from '../support/size.ts';
import { CALL, placesOf, sentSpans } from '../support/span-places.ts';

const run = promisify(execFile);
const skip = noPostgres();
const ANYWHERE = { host: '127.0.0.1', port: 0 };
/** How long nothing may arrive until everything has. */
const QUIET_MS = 1500;

/** By their fixture or name. */
const PLACES = new Map<string, Promise<Places>>();
let apps: FreshApps;
let server: PostgresServer;
let folder = '';
let path = '';
before(async () => {
  if (skip) return;
  [apps, server] = await Promise.all([FreshApps.start(), startQuietPostgres()]);
  folder = await apps.install('set-ups', SET_UP_PACKAGES);
  path = [dirname(process.execPath), join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter);
});
after(async () => {
  await apps?.[Symbol.asyncDispose]();
  await server?.stop();
});

for (const [place, setUp] of SET_UPS.entries()) {
  const peers = everyOther<Peer>(setUp.peers ?? ['none'], setUp.peers === undefined ? 0 : place);
  describe(setUp.name, { skip, concurrency: 2 }, () => {
    let places: Places;
    before(async () => {
      const made = PLACES.get(setUp.fixture ?? setUp.name) ?? makeBoth(setUp);
      PLACES.set(setUp.fixture ?? setUp.name, made);
      const { bare, ours } = await made;
      const command = setUp.fixture === undefined ? {} : { command: setUp.start };
      places = { bare: { ...bare, ...command }, ours: { ...ours, ...command } };
    });
    for (const peer of peers) {
      test(`${setUp.name} beside ${peer}: as without us, and each call once`, async () => {
        const url = await server.createMigrated();
        const [bare, ours] = await Promise.all([
          runApp(setUp, places.bare, peer),
          runApp(setUp, places.ours, peer, url),
        ]);
        const [models, failed, tools] = setUp.calls.map((each) => each * requestsOf(setUp));
        const rootless = ORPHANS[peer] === undefined || setUp.asked === 'by itself' ? 0 : failed;
        const counts = { models, failed, tools, rootless };
        assert.deepEqual(
          {
            ...shownBy(ours),
            ...keptBy(ours, bare, { peer, setUp }),
            asked: ours.asked,
            counts: await countsIn(url),
          },
          { ...shownBy(bare), said: saidBeside(setUp, peer), lost: [], orphans: [], asked: models, counts },
          [ours.stderr, ...placesOf(ours.spans).keys()].join('\n'),
        );
        assert.equal(bare.asked, models);
      });
    }
  });
}

/** What we say on stderr: beside an SDK that takes no span processors, rows have only what we trace. */
function saidBeside({ says }: SetUp, peer: Peer): readonly string[] {
  if (peer === 'sentry') return ['takes no span processors from us'];
  return peer === 'openinference' && says !== undefined ? [says] : [];
}

const requestsOf = ({ asked }: SetUp): number => (asked === 'by itself' ? 1 : REQUESTS);

interface Place {
  readonly folder: string;
  readonly command: string;
}
interface Places {
  readonly bare: Place;
  readonly ours: Place;
}

/** The application without us, and with us. */
async function makeBoth({ name, fixture, start, withUs, build }: SetUp): Promise<Places> {
  const make = async (kind: 'bare' | 'ours') => {
    const at = join(folder, (fixture ?? name).replaceAll(' ', '-'), kind);
    const fixtures = ['frames', 'wild', 'wild/set-ups', ...(fixture === undefined ? [] : [fixture])];
    for (const from of fixtures) await cp(join(ROOT, 'test/fixtures', from), at, { recursive: true });
    const dependencies = fixture === 'next' ? { next: '16' } : {};
    const manifest = { name: 'app', private: true, dependencies, scripts: { start } };
    await writeFile(join(at, 'package.json'), JSON.stringify(manifest));
    if (kind === 'ours' && withUs === undefined) await setUpAndUndo(at);
    if (build !== undefined) await run('sh', ['-c', build], { cwd: at, env: envOf() });
    const { scripts } = JSON.parse(await readFile(join(at, 'package.json'), 'utf8')) as typeof manifest;
    return { folder: at, command: scripts.start };
  };
  const [bare, ours] = await Promise.all([make('bare'), make('ours')]);
  return { bare, ours: { ...ours, command: withUs ?? ours.command } };
}

/** Undoes the set-up once in between: every byte is as before. */
async function setUpAndUndo(at: string): Promise<void> {
  const setup = (...flags: string[]) =>
    run(process.execPath, [cli(), 'setup', ...flags], { cwd: at, env: envOf() });
  const filesThere = async () => {
    const entries = await readdir(at, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    const read = names.sort().map(async (name) => [name, await readFile(join(at, name), 'utf8')]);
    return await Promise.all(read);
  };
  const before = await filesThere();
  await setup('--no-install', '--no-run');
  assert.notDeepEqual(await filesThere(), before);
  await setup('--undo');
  assert.deepEqual(await filesThere(), before);
  await setup('--no-install', '--no-run');
}

const cli = () => join(folder, 'node_modules/mcp-observatory/dist/lib/cli.js');

const envOf = (): NodeJS.ProcessEnv => ({
  PATH: path,
  HOME: join(folder, '../home'),
  NEXT_TELEMETRY_DISABLED: '1',
});

interface Run extends ProgramOutcome {
  readonly answers: readonly unknown[];
  readonly spans: readonly CollectedSpan[];
  /** Requests to the model. */
  readonly asked: number;
}

let runs = 0;

/** @param database with us, and rows there. */
async function runApp(setUp: SetUp, place: Place, peer: Peer, database?: string): Promise<Run> {
  await using collector = await OtlpCollector.start();
  runs += 1;
  const prefix = `/run-${String(runs).padStart(4, '0')}`;
  const file = join(folder, `spans-${runs}`);
  await writeFile(file, '');
  await using lambda = await LambdaEmulator.start(() => child.pid as number);
  const port = await freePort();
  await using service =
    database === undefined || setUp.sends !== true
      ? undefined
      : await startCollector({ databaseUrl: database, http: ANYWHERE, grpc: false, health: ANYWHERE });
  const child = spawn('sh', ['-c', `exec env ${place.command}`], {
    cwd: place.folder,
    timeout: 60_000,
    killSignal: 'SIGKILL',
    env: {
      ...envOf(),
      PORT: String(port),
      WILD_PRELOAD: peer,
      WILD_SPANS: file,
      OPENAI_API_KEY: 'sk-none',
      OPENAI_BASE_URL: `${apps.provider.url}${prefix}/v1`,
      AWS_LAMBDA_RUNTIME_API: lambda.address,
      LAMBDA_TASK_ROOT: place.folder,
      _HANDLER: 'lambda.handler',
      ...exportingTo(service?.httpUrl ?? collector.url),
      ...(database === undefined ? {} : { MCP_OBSERVATORY_DATABASE_URL: database, ...PATIENT }),
    },
  });
  const outcome = outcomeOf(child);
  const arrived = async () => collector.spans.length + (await stat(file)).size;
  const answers = await ASKING[setUp.asked]({ child, port, lambda, setUp, arrived });
  const { stdout, stderr, code, signal } = await outcome;
  const spans = [...new Map(collector.spans.map((span) => [span.spanId, span])).values()];
  return {
    answers,
    stdout: stdout.replaceAll(String(port), 'PORT').replace(/\d[\d.]*m?s\b/g, 'N s'),
    stderr: stderr.replaceAll(`(node:${child.pid})`, '(node)'),
    code,
    signal,
    spans: [...spans, ...(await sentSpans(file))],
    asked: apps.provider.requests.filter(({ path }) => path.startsWith(`${prefix}/`)).length,
  };
}

interface App {
  readonly child: ChildProcessWithoutNullStreams;
  readonly port: number;
  readonly lambda: LambdaEmulator;
  readonly setUp: SetUp;
  readonly arrived: () => Promise<number>;
}

const ASKING: Readonly<Record<SetUp['asked'], (app: App) => Promise<unknown[]>>> = {
  'over http': async ({ child, port, setUp, arrived }) => {
    const answers: unknown[] = [];
    while (answers.length < REQUESTS && child.exitCode === null && child.signalCode === null) {
      const url = `http://127.0.0.1:${port}${setUp.path ?? `/ask/${answers.length}`}`;
      const { method = 'GET' } = setUp;
      const body = method === 'POST' ? `question ${answers.length}` : null;
      const answer = await fetch(url, { method, body }).catch(() => sleep(50));
      if (answer !== undefined) answers.push([answer.status, await answer.text()]);
    }
    await waitForQuiet(arrived);
    child.kill();
    return answers;
  },
  'as a function': async ({ child, lambda }) => {
    const ended = new AbortController();
    child.once('exit', () => ended.abort());
    const answers: unknown[] = [];
    while (answers.length < REQUESTS && !ended.signal.aborted)
      answers.push(
        await lambda
          .call({ about: String(answers.length) }, ended.signal)
          .catch((error: Error) => error.message),
      );
    child.kill('SIGKILL');
    return answers;
  },
  'on stdin': async ({ child }) => {
    const clientInfo = { name: 'claude-desktop', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const call = (id: number) => ({
      method: 'tools/call',
      id,
      params: { name: 'balance', arguments: { of: `${id}` } },
    });
    const calls = Array.from({ length: REQUESTS }, (_, at) => call(at + 1));
    const messages = [
      { method: 'initialize', id: 0, params },
      { method: 'notifications/initialized' },
      ...calls,
    ];
    child.stdin.end(
      messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''),
    );
    return [];
  },
  'by itself': async ({ child }) => {
    child.stdin.end();
    return [];
  },
};

/** Waits until nothing arrives any more. */
async function waitForQuiet(arrived: () => Promise<number>): Promise<void> {
  for (let seen = -1, now = 0; seen !== now; ) {
    seen = now;
    await sleep(QUIET_MS);
    now = await arrived();
  }
}

const OWN_LINE = /^.*mcp-observatory: (.*)\n/gm;

function shownBy({ answers, stdout, stderr, code, signal }: Run) {
  const said = [...stderr.matchAll(OWN_LINE)].map(([, line = '']) =>
    line.replace(/^.*\) |, so .*$|: what .*$/g, ''),
  );
  return { answers, stdout, stderr: stderr.replaceAll(OWN_LINE, ''), code, signal, said };
}

/** Spans that others make and that are not where they are without us, and those with us whose parent was lost. */
function keptBy(ours: Run, bare: Run, { peer, setUp }: { readonly peer: Peer; readonly setUp: SetUp }) {
  const places = placesOf(ours.spans);
  const isOrphan = (place: string) =>
    place.startsWith('? > ') && CALL.test(place.slice(4)) && ORPHANS[peer]?.test(place) !== true;
  const lost = [...placesOf(bare.spans)].filter(
    ([place, count]) =>
      !place.startsWith('?') && setUp.aside?.test(place) !== true && (places.get(place) ?? 0) < count,
  );
  return { lost, orphans: [...places.keys()].filter(isOrphan) };
}

async function countsIn(url: string): Promise<Readonly<Record<string, unknown>>> {
  const db = await openDatabase({ url });
  await refreshRollups(db);
  const { rows } = await db.query(
    `SELECT coalesce(sum(model_calls), 0)::int AS models, coalesce(sum(tool_calls), 0)::int AS tools,
            (SELECT coalesce(sum(errors), 0)::int FROM mcp_models_hourly) AS failed,
            count(*) FILTER (WHERE NOT has_root AND model_calls + tool_calls > 0)::int AS rootless
       FROM mcp_runs`,
  );
  await db.close();
  return rows[0] as Readonly<Record<string, unknown>>;
}
