import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { metrics } from '@opentelemetry/api';
import { driftCommand } from '../src/cli/drift.ts';
import { type DriftReport, driftReport, watchDrift } from '../src/execution/drift/index.ts';
import { migrate, openDatabase, type Queryable } from '../src/postgres/index.ts';
import { testDatabases } from './support/databases.ts';
import { MetricReader } from './support/metric-reader.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';
import { waitUntil } from './support/wait-until.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

interface Calls {
  readonly service?: string | null;
  readonly tool?: string | null;
  readonly template?: string | null;
  /** Hashes, by name. */
  readonly prompts: readonly string[];
  readonly ageMs: number;
  readonly isShadow?: boolean;
}

async function fill(db: Queryable, now: number, calls: readonly Calls[]): Promise<void> {
  for (const {
    service = 'pay',
    tool = 'review',
    template = 'v1',
    prompts,
    ageMs,
    isShadow = null,
  } of calls) {
    await db.query(
      `INSERT INTO mcp_traces (trace_id, span_id, service, tool_name, prompt_template_id, normalized_prompt_hash,
         is_shadow, start_time, end_time, span_name, span_kind, status_code, attributes, resource, events, links)
       SELECT gen_random_uuid(), gen_random_uuid(), $1::text, $2::text, $3::text, hash, $4::boolean,
         $5::timestamptz, $5::timestamptz, 'chat', 'client', 'unset', '{}', '{}', '[]', '[]'
       FROM unnest($6::text[]) AS hash`,
      [service, tool, template, isShadow, new Date(now - ageMs).toISOString(), prompts],
    );
  }
}

const times = (count: number, name: string) => Array.from({ length: count }, () => name);
const distinct = (count: number, name: string) => Array.from({ length: count }, (_, i) => `${name}-${i}`);

/** Two windows of traffic: one service drifts, one changes its template, one is new, one has little traffic. */
const TRAFFIC: readonly Calls[] = [
  { prompts: [...times(40, 'a'), ...times(10, 'b')], ageMs: 10 * DAY },
  { prompts: [...times(40, 'a'), ...distinct(10, 'stray')], ageMs: 2 * DAY },
  { service: 'mail', prompts: times(50, 'm'), ageMs: 10 * DAY },
  { service: 'mail', prompts: times(10, 'm'), ageMs: 3 * DAY },
  { service: 'mail', template: 'v2', prompts: [...times(35, 'm2'), ...times(5, 'm')], ageMs: 2 * DAY },
  { service: 'fresh', tool: null, template: null, prompts: distinct(30, 'f'), ageMs: DAY },
  { service: 'quiet', prompts: ['q'], ageMs: 10 * DAY },
  { service: 'quiet', prompts: ['q2'], ageMs: DAY },
  // What must not count: shadow runs, calls without a hash, and what is older than both windows.
  { prompts: distinct(500, 'shadow'), ageMs: DAY, isShadow: true },
  { service: 'mail', prompts: distinct(100, 'ancient'), ageMs: 30 * DAY },
];

function groupOf(report: DriftReport, service: string) {
  const group = report.groups.find((one) => one.service === service);
  assert.ok(group, `no group ${service}`);
  return group;
}

const folder = mkdtempSync(join(tmpdir(), 'observatory-drift-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let server: Promise<PostgresServer> | undefined;
const newServerDatabase = async (): Promise<{ readonly url: string }> => {
  server ??= startPostgres();
  return { url: await (await server).createDatabase() };
};
after(async () => (await server)?.stop());

/** Where a database is, as `openDatabase` takes it. */
interface Place {
  readonly url?: string;
  readonly dataDir?: string;
}

const flagsOf = ({ url, dataDir }: Place) =>
  url === undefined ? ['--data-dir', dataDir ?? ''] : ['--database-url', url];

/** Makes a database with these calls. */
async function filled(place: Place, calls: readonly Calls[]): Promise<Place> {
  await using db = await openDatabase(place);
  await migrate(db);
  await fill(db, Date.now(), calls);
  return place;
}

async function checkReports(db: Queryable, until: Date): Promise<void> {
  const week = { sinceMs: WEEK, until };
  const report = await driftReport(db, week, { failOver: 0.1 });
  assert.equal(report.isAlert, true);
  assert.equal(report.groups.length, 4);
  const { templateChanges: none, ...pay } = groupOf(report, 'pay');
  assert.deepEqual(none, []);
  assert.deepEqual(pay, {
    service: 'pay',
    toolName: 'review',
    status: 'drift',
    prompts: 50,
    hashes: 11,
    baselinePrompts: 50,
    baselineHashes: 2,
    newHashes: 10,
    newPrompts: 10,
    unexplainedHashes: 10,
    unexplainedPrompts: 10,
    newShare: 0.2,
    driftShare: 0.2,
    growth: 5.5,
  });
  assert.equal(report.groups[0]?.service, 'pay');
  const mail = groupOf(report, 'mail');
  assert.deepEqual(
    [mail.status, mail.prompts, mail.newHashes, mail.newPrompts, mail.unexplainedPrompts],
    ['ok', 50, 1, 35, 0],
  );
  assert.deepEqual(mail.templateChanges, [
    {
      promptTemplateId: 'v2',
      firstSeen: new Date(until.getTime() - 2 * DAY).toISOString().replace('Z', '000Z'),
      prompts: 40,
      hashes: 2,
      newHashes: 1,
    },
  ]);
  const fresh = groupOf(report, 'fresh');
  assert.deepEqual([fresh.status, fresh.toolName, fresh.growth], ['no_baseline', null, null]);
  assert.equal(groupOf(report, 'quiet').status, 'few');

  const onlyMail = { ...week, service: 'mail', toolName: 'review' };
  const counted = await driftReport(db, onlyMail, { failOver: 0.1, countTemplateChanges: true });
  assert.deepEqual(
    counted.groups.map(({ service, status }) => [service, status]),
    [['mail', 'drift']],
  );
  const grown = await driftReport(db, week, { failOverGrowth: 5 });
  assert.deepEqual(
    grown.groups.filter(({ status }) => status === 'drift').map(({ service }) => service),
    ['pay'],
  );
  const early = { sinceMs: DAY + 1, baselineMs: WEEK, until: new Date(until.getTime() - 9 * DAY) };
  assert.deepEqual(
    (await driftReport(db, early)).groups.map(({ service, status }) => [service, status]),
    [
      ['mail', 'no_baseline'],
      ['pay', 'no_baseline'],
      ['quiet', 'no_baseline'],
    ],
  );
}

async function checkViews(db: Queryable): Promise<void> {
  const service = 'views';
  await fill(db, Date.UTC(2026, 9, 20, 12), [
    { service, prompts: ['a', 'a', 'b'], ageMs: 2 * DAY },
    { service, prompts: ['a', 'c'], ageMs: DAY },
    { service, template: 'v2', prompts: ['c', 'd', 'd'], ageMs: 0 },
    { service, prompts: ['e'], ageMs: 0, isShadow: true },
  ]);
  const byDay = await db.query(
    `SELECT day::text, prompts::integer, hashes::integer, new_hashes::integer, new_prompts::integer, templates::integer
     FROM mcp_prompt_drift WHERE service = 'views' AND tool_name = 'review' ORDER BY day`,
  );
  assert.deepEqual(
    byDay.rows.map((row) => Object.values(row)),
    [
      ['2026-10-18', 3, 2, 2, 3, 1],
      ['2026-10-19', 2, 2, 1, 1, 1],
      ['2026-10-20', 3, 2, 1, 2, 1],
    ],
  );
  const byTemplate = await db.query(
    `SELECT prompt_template_id, previous_template_id, prompts::integer, hashes::integer, new_hashes::integer
     FROM mcp_prompt_template_changes WHERE service = 'views' ORDER BY first_seen`,
  );
  assert.deepEqual(
    byTemplate.rows.map((row) => Object.values(row)),
    [
      ['v1', null, 5, 3, 3],
      ['v2', 'v1', 3, 2, 1],
    ],
  );
}

const DATABASES: readonly { name: string; skip: string | false; create(): Promise<Place> }[] = [
  { name: 'Postgres', skip: noPostgres(), create: newServerDatabase },
  { name: 'PGlite', skip: false as const, create: async () => ({ dataDir: join(folder, 'embedded') }) },
].filter(({ name }) => testDatabases().some((databases) => databases.name === name));

for (const { name, skip, create } of DATABASES) {
  test(`${name}: new prompts without a new template are drift; the views and the command tell it`, {
    skip,
  }, async () => {
    const now = new Date();
    const place: Place = await create();
    {
      await using db = await openDatabase(place);
      await migrate(db);
      await fill(db, now.getTime(), TRAFFIC);
      await checkReports(db, now);
      await checkViews(db);
    }
    const { code, rows } = await runCommand(driftCommand, [
      ...flagsOf(place),
      ...['--since', '7d', '--json', '--fail-over', '0.1'],
    ]);
    assert.equal(code, 1);
    assert.deepEqual([rows[0]?.alert, rows[0]?.fail_over, rows[0]?.fail_over_growth], [true, 0.1, null]);
    const groups = rows[0]?.groups as Record<string, unknown>[];
    assert.deepEqual([groups[0]?.service, groups[0]?.status, groups[0]?.drift_share], ['pay', 'drift', 0.2]);
    const mail = groups.find(({ service }) => service === 'mail');
    const [change] = (mail?.template_changes ?? []) as { prompt_template_id: string }[];
    assert.equal(change?.prompt_template_id, 'v2');
  });
}

describe('drift', { skip: noPostgres() }, () => {
  let traffic: Promise<Place> | undefined;
  const trafficPlace = () => {
    traffic ??= newServerDatabase().then((place) => filled(place, TRAFFIC));
    return traffic;
  };

  test('the exit code is the alert, and the text names what is new', async () => {
    const where = flagsOf(await trafficPlace());
    const drift = (...args: string[]) => runCommand(driftCommand, [...where, ...args]);
    assert.equal((await drift('--since', '7d', '--fail-over', '0.2')).code, 0);
    assert.equal((await drift('--fail-over-growth', '5')).code, 1);
    assert.equal((await drift('--fail-over', '0.1', '--min-prompts', '51')).code, 0);
    const text = await drift('--service', 'mail');
    assert.equal(text.code, 0);
    assert.match(text.stdout, /mail +review +50 +2 +1 +70\.0 % +0\.0 % +ok/);
    assert.match(text.stdout, /new template v2 since .* \(mail, review\): 1 new prompts in 40 calls/);
    assert.match((await drift('--service', 'nobody')).stdout, /no prompts/);
    for (const bad of ['--fail-over=2', '--fail-over=x', '--since=7', '--min-prompts=-1']) {
      await assert.rejects(drift(bad), { code: 'INVALID_OPTION' }, bad);
    }
  });

  test('the command says what to do where the tables are missing', async () => {
    await assert.rejects(runCommand(driftCommand, flagsOf(await newServerDatabase())), {
      code: 'DATABASE_SCHEMA_MISSING',
      message: /db migrate/,
    });
  });

  test('the command tells its result to a meter provider that is registered', async () => {
    await using reader = new MetricReader();
    const where = flagsOf(await trafficPlace());
    metrics.setGlobalMeterProvider(reader.provider);
    try {
      await runCommand(driftCommand, [...where, '--fail-over', '0.1']);
    } finally {
      metrics.disable();
    }
    const alerts = await reader.points('observatory.drift.alert');
    assert.equal(alerts.filter(({ value }) => value === 1).length, 1);
  });

  test('a watch tells each report as gauges, with at most as many names as it may, and ends', async () => {
    await using reader = new MetricReader();
    const many = distinct(300, 'service').map((service) => ({ service, prompts: ['x'], ageMs: HOUR }));
    await using db = await openDatabase(await filled(await newServerDatabase(), [...TRAFFIC, ...many]));
    const reports: DriftReport[] = [];
    const watch = watchDrift({
      db,
      sinceMs: WEEK,
      failOver: 0.1,
      intervalMs: 3_600_000,
      meterProvider: reader.provider,
      onReport: (report) => reports.push(report),
    });
    await waitUntil(() => reports.length === 1);
    const alerts = await reader.points('observatory.drift.alert');
    assert.deepEqual(
      alerts.filter(({ value }) => value === 1).map(({ attributes }) => ({ ...attributes })),
      [{ 'observatory.service': 'pay', 'gen_ai.tool.name': 'review' }],
    );
    assert.ok(alerts.length <= 100, `${alerts.length} series`);
    const shares = await reader.points('observatory.drift.unexplained_share');
    assert.equal(shares.find(({ attributes }) => attributes['observatory.service'] === 'pay')?.value, 0.2);
    assert.equal(watch.report, reports[0]);
    await watch.close();
  });
});

test('a watch survives a database that fails, and names options that cannot be used', async () => {
  let asked = 0;
  const db: Queryable = {
    query: () => {
      asked += 1;
      return Promise.reject(new Error('down'));
    },
  };
  const watch = watchDrift({ db, sinceMs: DAY, intervalMs: 1 });
  await waitUntil(() => asked >= 3);
  await watch.close();
  assert.equal(watch.report, undefined);
  assert.throws(() => watchDrift({ db, sinceMs: 0 }), { code: 'INVALID_OPTION', message: /`sinceMs`/ });
  assert.throws(() => watchDrift({ db, sinceMs: DAY, failOver: 2 }), {
    code: 'INVALID_OPTION',
    message: /from 0 to 1, got 2/,
  });
});
