/** Policies from the calls that a store has. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { gateCommand } from '../src/cli/gate.ts';
import { noPostgres, runSql, startPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

test('learn and what-if read the calls of the store', { skip: noPostgres() }, async () => {
  await using server = await startPostgres();
  const url = await server.createMigrated();
  const attributes = [
    { 'gen_ai.tool.call.arguments': '{"to":"a@a.example"}', 'observatory.mcp_server': 'mail' },
    {},
  ];
  await runSql(
    url,
    `INSERT INTO mcp_traces (trace_id, span_id, service, span_name, span_kind, status_code, start_time, end_time, operation,
       tool_name, attributes, resource, events, links)
     SELECT gen_random_uuid(), gen_random_uuid(), 's', 'n', 'client', 'unset', now(), now(), 'execute_tool', 'send', one, '{}',
       '[]', '[]' FROM jsonb_array_elements('${JSON.stringify(attributes)}') one`,
  );
  const out = join(tempDir(), 'learned.txt');
  const stored = ['--since', '1d', '--database-url', url];
  const learned = await runCommand(gateCommand, ['learn', '--out', out, ...stored]);
  assert.match(learned.stdout, /^mail\/send where to is "a@a.example"; and nothing else is given\n/);
  assert.match(learned.stderr, /1 .*without/);
  assert.equal((await runCommand(gateCommand, ['what-if', out, ...stored])).code, 0);
});
