/** Failures and results in the words of frameworks that write them in other places than this library. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, PostgresSpanExporter, refreshRuns } from '../src/postgres/index.ts';
import { explainRun, findRun, listRuns, readRunSpans, readSaid, sentenceText } from '../src/runs/index.ts';
import { exportSpans } from './support/export.ts';
import { noPostgres, startQuietPostgres } from './support/postgres-server.ts';
import { chat, runOf, tool } from './support/seeded-runs.ts';
import { altered } from './support/spans.ts';

test('a failure is told by its exception, without the stack behind it; a result is read from any dialect', {
  skip: noPostgres(),
}, async () => {
  await using server = await startQuietPostgres();
  const url = await server.createMigrated();
  await using db = await openDatabase({ url });
  const exporter = new PostgresSpanExporter({ connection: url });
  const stack = `ValueError('over')Traceback (most recent call last):\n  File "a.py", line 1, in run`;
  const results: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ 'openinference.span.kind': 'TOOL', 'output.value': '{"order":12}' }, '{"order":12}'],
    [
      { 'traceloop.span.kind': 'tool', 'traceloop.entity.input': '{}', 'traceloop.entity.output': 'found' },
      'found',
    ],
    [{ 'ai.operationId': 'ai.toolCall', 'ai.toolCall.args': '{}', 'ai.toolCall.result': '"sent"' }, '"sent"'],
  ];
  const root = { name: 'invoke_agent desk', at: 0, ms: 900 };
  const [silent, ...others] = runOf(2, 4, [{ ...tool('book', { error: '' }), at: 100 }, chat({ at: 300 })]);
  assert.ok(silent);
  const exception = {
    name: 'exception',
    time: silent.startTime,
    attributes: { 'exception.message': 'no seat' },
  };
  for (const spans of [
    runOf(1, 5, [root, tool('refund', { error: stack }), chat({ at: 300 })]),
    [altered(silent, { events: [exception] }), ...others],
    runOf(3, 3, [root, ...results.map(([attributes]) => tool('look', { attributes }))]),
  ])
    await exportSpans(exporter, spans);
  await exporter.shutdown();
  await refreshRuns(db);

  const { runs } = await listRuns(db);
  assert.deepEqual(
    runs.map(({ failure }) => failure),
    [null, { what: 'book', why: 'no seat' }, { what: 'refund', why: `ValueError('over')` }],
  );
  const read = async (trace: string) => {
    const run = await findRun(db, trace.padStart(32, '0'));
    assert.ok(run);
    const spans = await readRunSpans(db, run);
    return { run, spans, sentence: sentenceText(explainRun(spans, [], run.status)) };
  };
  assert.match((await read('1')).sentence, /1 failed \(refund: ValueError\('over'\)\)/u);
  assert.match((await read('2')).sentence, /1 failed \(book: no seat\)/u);
  const { run, spans } = await read('3');
  const said = await readSaid(db, run.id, spans);
  assert.deepEqual(
    said.flatMap(({ result }) => result ?? []),
    results.map(([, result]) => result),
  );
});
