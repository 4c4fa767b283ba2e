import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { parse } from 'yaml';
import { ObservatorySpanProcessor, PostgresSpanExporter } from '../src/index.ts';
import type { Queryable } from '../src/postgres/index.ts';
import { postgresDatabases } from './support/databases.ts';
import { type Chosen, expand, readDashboards } from './support/grafana.ts';
import { recordTraffic } from './support/traffic.ts';

const FOLDER = fileURLToPath(new URL('../../collector/grafana/', import.meta.url));
const dashboards = readDashboards(`${FOLDER}dashboards`);

const alerts = parse(readFileSync(`${FOLDER}provisioning/alerting/evidence.yaml`, 'utf8')) as {
  groups: readonly {
    rules: readonly {
      title: string;
      condition: string;
      data: readonly { refId: string; datasourceUid: string; model: { rawSql?: string } }[];
    }[];
  }[];
};

const postgres = postgresDatabases();

describe('every query of the dashboards', { skip: postgres.skip }, () => {
  let db: Queryable;
  let chosen: Chosen;
  before(async () => {
    db = await postgres.createMigrated();
    await using exporter = new PostgresSpanExporter({ connection: db });
    const provider = new NodeTracerProvider({
      spanProcessors: [new ObservatorySpanProcessor(), new BatchSpanProcessor(exporter)],
    });
    const trace = await recordTraffic(provider);
    await provider.shutdown();
    chosen = {
      from: new Date(Date.now() - 3_600_000),
      to: new Date(Date.now() + 60_000),
      variables: { trace: [trace] },
    };
  });
  after(() => postgres[Symbol.asyncDispose]());

  for (const dashboard of dashboards) {
    test(`${dashboard.title} has rows in every panel, whatever is chosen`, async () => {
      const variables: Record<string, readonly string[]> = { ...chosen.variables };
      for (const { name, type, query } of dashboard.templating.list) {
        if (type !== 'query') continue;
        const { rows } = await db.query(expand(query, chosen));
        variables[name] = rows.flatMap((row) => Object.values(row).map(String));
        assert.ok(variables[name].length > 1, `nothing to choose from for ${name}`);
      }
      for (const { title, targets, fieldConfig } of dashboard.panels) {
        for (const { rawSql, format } of targets) {
          const { rows } = await db.query(expand(rawSql, { ...chosen, variables }));
          const columns = Object.keys(rows[0] ?? {});
          assert.ok(columns.length > 0, `${title} has no rows`);
          assert.ok(
            columns.some((column) => rows.some((row) => row[column] !== null && row[column] !== 0)),
            `${title} is empty`,
          );
          if (format === 'time_series') assert.deepEqual(columns, ['time', 'metric', 'value'], title);
          for (const { matcher } of fieldConfig.overrides) {
            assert.ok(columns.includes(matcher.options), `${title} has no column ${matcher.options}`);
          }
        }
      }
    });
  }

  test('a service that was not chosen is in no panel', async () => {
    const variables = { ...chosen.variables, service: ['nobody'], model: ['-'], tool: ['-'] };
    for (const { panels } of dashboards.filter(({ uid }) => uid !== 'mcp-trace')) {
      for (const { title, type, targets } of panels) {
        if (type === 'stat') continue;
        const { rows } = await db.query(expand(targets[0]?.rawSql ?? '', { ...chosen, variables }));
        assert.equal(rows.length, 0, title);
      }
    }
  });

  test('every query of the alert rules gives one number, which the threshold compares', async () => {
    for (const { title, data } of alerts.groups.flatMap(({ rules }) => rules)) {
      const { rows } = await db.query(data[0]?.model.rawSql ?? '');
      assert.ok(rows.length <= 1, title);
      for (const row of rows) assert.ok(Number.isFinite(Number(row.value)), title);
    }
    const [contradicted] = alerts.groups[0]?.rules ?? [];
    const { rows } = await db.query(contradicted?.data[0]?.model.rawSql ?? '');
    assert.equal(rows.length, 1);
  });

  test('a trace dashboard opened without a trace is empty, not in error', async () => {
    const [panel] = dashboards.find(({ uid }) => uid === 'mcp-trace')?.panels ?? [];
    const sql = expand(panel?.targets[0]?.rawSql ?? '', { ...chosen, variables: { trace: [''] } });
    assert.deepEqual((await db.query(sql)).rows, []);
  });
});

describe('provisioning', () => {
  const dataSources = parse(
    readFileSync(`${FOLDER}provisioning/datasources/mcp-observatory.yaml`, 'utf8'),
  ) as {
    datasources: readonly { uid: string; type: string }[];
  };

  test('panels ask the data source that is provisioned', () => {
    const uids = new Set(dataSources.datasources.map(({ uid }) => uid));
    for (const { panels } of dashboards) {
      for (const { title, datasource } of panels) assert.ok(uids.has(datasource.uid), title);
    }
  });

  test('alert rules ask the data source that is provisioned, and their condition is one of their steps', () => {
    const uids = new Set([...dataSources.datasources.map(({ uid }) => uid), '__expr__']);
    for (const { title, condition, data } of alerts.groups.flatMap(({ rules }) => rules)) {
      for (const { datasourceUid } of data) assert.ok(uids.has(datasourceUid), title);
      assert.ok(
        data.some(({ refId }) => refId === condition),
        title,
      );
    }
  });

  test('panels lie side by side: none on another, none over the edge', () => {
    for (const { panels } of dashboards) {
      const taken = new Set<string>();
      for (const { title, gridPos } of panels) {
        const { x, y, w, h } = gridPos;
        assert.ok(x + w <= 24, title);
        for (let column = x; column < x + w; column += 1) {
          for (let row = y; row < y + h; row += 1) {
            assert.ok(!taken.has(`${column},${row}`), `${title} lies on another panel`);
            taken.add(`${column},${row}`);
          }
        }
      }
    }
  });
});
