// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { taxCommand } from '../src/cli/tax.ts';
import { openDatabase, prune, refreshRollups } from '../src/postgres/index.ts';
import { noPostgres, type PostgresServer, startQuietPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';

const LIST = { total: 500, tools: { books: { find: 100, lend: 50 }, maps: { find: 300 } } };

/** A model call, one a minute; the values of its columns as SQL. */
const call = (n: number, values: Readonly<Record<string, string>>) => {
  const all: Readonly<Record<string, string>> = {
    trace_id: `md5('tax${n}')::uuid`,
    span_id: `md5('tax${n}')::uuid`,
    start_time: `now() - interval '${n} minutes'`,
    end_time: `now() - interval '${n} minutes'`,
    span_name: `'span'`,
    span_kind: `'client'`,
    status_code: `'unset'`,
    attributes: `'{}'`,
    resource: `'{}'`,
    events: `'[]'`,
    links: `'[]'`,
    ...values,
  };
  return `INSERT INTO mcp_traces (${Object.keys(all).join(', ')}) VALUES (${Object.values(all).join(', ')})`;
};
const offered = (hash: string, tokens: number, more: Readonly<Record<string, string>> = {}) => ({
  model: `'gpt-4o'`,
  provider: `'openai'`,
  prompt_tokens: '2000',
  offered_tools: '3',
  offered_tools_hash: `'${hash}'`,
  offered_tools_tokens: `${tokens}`,
  offered_tools_cost_usd: `${tokens / 1e6}`,
  ...more,
});

// A refresh waits for every open transaction of its server.
describe('the context tax', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let url: string;
  before(async () => {
    server = await startQuietPostgres();
    url = await server.createMigrated();
  });
  after(() => server.stop());
  const tax = async (...args: string[]) => {
    const { code, stdout } = await runCommand(taxCommand, [...args, '--database-url', url]);
    return { code, stdout };
  };

  test('by server and tool: offered, used and never used; the sums are those of the rows, in any order of arrival', async () => {
    assert.match((await tax()).stdout, /no model calls that offered tools/);
    await using db = await openDatabase({ url });
    const list = `'${JSON.stringify(LIST)}'`;
    await db.query(call(1, offered('a', 1000)));
    await db.query(call(2, { tool_name: `'find'`, server_name: `'maps'` }));
    await refreshRollups(db);
    // What the calls offered becomes known after they were counted.
    await db.query(call(3, offered('a', 500, { offered_tools_list: list })));
    await db.query(call(4, offered('unknown', 300, { model: `'claude'` })));
    // The same call by another instrumentation, and a failed one without usage.
    await db.query(call(5, offered('a', 700, { counted_on: `'0000000000000001'` })));
    await db.query(
      call(6, { ...offered('a', 0), offered_tools_tokens: 'NULL', offered_tools_cost_usd: 'NULL' }),
    );
    const report = JSON.parse((await tax('--json')).stdout);
    assert.equal(report.calls, 3);
    assert.equal(report.tokens, 1800);
    assert.equal(report.prompt_tokens, 6000);
    assert.equal(report.share, 0.3);
    assert.equal(report.cost_usd.toFixed(9), '0.001800000');
    const near = (value: number) => Number(value.toFixed(6));
    assert.deepEqual(
      report.tools.map((tool: Record<string, number>) => ({
        ...tool,
        cost_usd: near(tool.cost_usd ?? 0),
        tokens: near(tool.tokens ?? 0),
      })),
      [
        { server: 'maps', tool: 'find', offered: 2, used: 1, tokens: 900, cost_usd: 0.0009 },
        { server: 'books', tool: 'find', offered: 2, used: 0, tokens: 300, cost_usd: 0.0003 },
        { server: 'books', tool: 'lend', offered: 2, used: 0, tokens: 150, cost_usd: 0.00015 },
      ],
    );
    // 50 of 500 are the provider's own; of the other set no tool is known.
    assert.equal(near(report.other_tokens), 150 + 300);
    const { stdout } = await tax('--unused', '--model', 'gpt-4o');
    assert.match(stdout, /1,500 of 4,000 input tokens \(37\.5 %\) of 2 model calls/);
    assert.match(stdout, /books +find +2 +never +150 +300/);
    assert.doesNotMatch(stdout, /maps/);
    const [books] = JSON.parse((await tax('--by', 'server', '--server', 'books', '--json')).stdout).servers;
    assert.deepEqual([books.tools, books.unused, near(books.tokens)], [2, 2, 450]);
    assert.equal((await tax('--fail-over', '0.31')).code, 0);
    assert.equal((await tax('--fail-over', '0.29')).code, 1);
    await assert.rejects(tax('--by', 'user'), /--by to be one of tool, server, got 'user'/);
  });

  test('a list of any form is harmless, and names of any length', async () => {
    await using db = await openDatabase({ url });
    const lists = [
      'no json',
      '7',
      '{"total":"x","tools":{"s":{"t":1}}}',
      '{"total":1,"tools":[1]}',
      '{"total":1,"tools":{"s":7}}',
      '{"total":-5,"tools":{"s":{"t":1e400}}}',
      '{"tools":{"s":{"t":null}}}',
      `{"total":1,"tools":{"s":{"${'x'.repeat(5_000)}":99999}}}`,
      `{"total":1,"tools":{"${'y'.repeat(70_000)}":{}}}`,
    ];
    for (const [i, list] of lists.entries())
      await db.query(
        call(10 + i, offered(`h${i}`, 10, { model: `'hostile'`, offered_tools_list: `'${list}'` })),
      );
    await db.query(call(30, offered('z'.repeat(9_000), 2_000_000_000, { model: `'hostile'` })));
    assert.notEqual(await refreshRollups(db), null);
    const report = JSON.parse((await tax('--model', 'hostile', '--json')).stdout);
    assert.equal(report.calls, lists.length);
    const shares = report.tools.reduce((sum: number, tool: { tokens: number }) => sum + tool.tokens, 0);
    assert.equal((shares + report.other_tokens).toFixed(6), (10 * lists.length).toFixed(6));
  });

  test('prune forgets the tax of old calls, and sets of tools that no call is left of', async () => {
    await using db = await openDatabase({ url });
    await prune(db, new Date(Date.now() + 2 * 3_600_000));
    for (const table of ['mcp_tax_hourly', 'mcp_tool_sets']) {
      const { rows } = await db.query(`SELECT count(*)::integer AS rows FROM ${table}`);
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [{ rows: 0 }],
        table,
      );
    }
  });
});
