import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { BatchSpanProcessor, NodeTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { ObservatoryError } from '../src/base/errors.ts';
import type { TraceRow } from '../src/base/fields.ts';
import { PostgresSpanExporter, type Queryable } from '../src/postgres/index.ts';
import { SANITIZED_ATTRIBUTE, TRUNCATED_ATTRIBUTE } from '../src/postgres/marks.ts';
import { countRows, readRows, testDatabases } from './support/databases.ts';
import { type ExportResult, exportSpans } from './support/export.ts';
import { seededRandom } from './support/random.ts';
import { ATTRIBUTE_FIELDS, randomSpans, randomValue } from './support/random-spans.ts';
import { spanToRow } from './support/span-row.ts';
import { altered, recordSpans, spanWith } from './support/spans.ts';

for (const databases of testDatabases()) {
  describe(`on ${databases.name}`, { skip: databases.skip }, () => {
    let db: Queryable;
    before(async () => {
      db = await databases.createMigrated();
    });
    after(() => databases[Symbol.asyncDispose]());

    const empty = () => db.query('TRUNCATE mcp_traces');

    test('spans of a real BatchSpanProcessor are there after its shutdown', async () => {
      await empty();
      await using exporter = new PostgresSpanExporter({ connection: db });
      const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
      const tracer = provider.getTracer('test');
      for (let i = 0; i < 700; i += 1) tracer.startSpan(`span ${i}`).end();
      // Its forceFlush() would not wait for the batch that is under way already; shutdown() of the exporter does.
      await provider.shutdown();
      assert.equal(await countRows(db), 700);
      const { exported, failed, refused } = exporter.stats;
      assert.deepEqual({ exported, failed, refused }, { exported: 700, failed: 0, refused: 0 });
    });

    test('every attribute column comes back from SQL with the value that was set', async () => {
      await empty();
      const random = seededRandom(20_261_120);
      const sent = Array.from({ length: 200 }, () => {
        // Tokens and cost that are counted elsewhere have no columns.
        const fields = ATTRIBUTE_FIELDS.filter(({ column }) => column !== 'counted_on');
        const values = new Map(fields.map((field) => [field.column, randomValue(field, random)]));
        // No prompt is empty: zero stands for what nobody counted.
        if (values.get('prompt_tokens') === 0) values.set('prompt_tokens', 1);
        // The word is no id.
        for (const [column, value] of values)
          if (column.endsWith('_id') && /^null$/i.test(String(value))) values.set(column, 'someone');
        const attributes = Object.fromEntries(
          [...values].map(([column, value]) => [`observatory.${column}`, value]),
        );
        return { values, span: spanWith(attributes) };
      });
      assert.deepEqual(
        await exportTo(
          db,
          sent.map(({ span }) => span),
        ),
        { code: 0 },
      );
      const rows = new Map((await readRows(db)).map((row) => [row.span_id, row]));
      assert.equal(rows.size, sent.length);
      for (const { values, span } of sent) {
        const row = rows.get(spanToRow(span).span_id);
        assert.ok(row);
        for (const [column, value] of values) assert.deepEqual(row[column], value, column);
        assert.deepEqual(row.attributes, {}, 'the columns hold them all');
      }
    });

    test('the error rate of a model is that of the calls that asked for it', async () => {
      await empty();
      const asked = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' };
      const answered = spanWith({ ...asked, 'gen_ai.response.model': 'gpt-4o-2024-08-06' });
      const failed = altered(spanWith(asked), { status: { code: 2 } });
      await exportTo(db, [answered, failed]);
      const [sql] =
        /SELECT coalesce\(attributes->>[^;]+/.exec(await readFile('docs/postgres.md', 'utf8')) ?? [];
      const { rows } = await db.query(sql ?? '');
      const figures = rows.map((row) => Object.values(row as object).map(String));
      assert.deepEqual(figures, [['gpt-4o', '2', '0.50000000000000000000']]);
    });

    test('rows read back equal the rows that were mapped, whatever the attributes are', async () => {
      await empty();
      const spans = randomSpans(300, 7);
      assert.deepEqual(await exportTo(db, spans), { code: 0 });
      assert.deepEqual(byId(await readRows(db)), byId(spans.map(asStored)));
    });

    test('writing the same spans twice leaves the same rows', async () => {
      await empty();
      const spans = randomSpans(50, 11);
      assert.deepEqual(await exportTo(db, [...spans, ...spans.slice(0, 10)]), { code: 0 });
      const once = await readRows(db);
      assert.equal(once.length, 50);
      assert.deepEqual(await exportTo(db, spans), { code: 0 });
      assert.deepEqual(await readRows(db), once);
    });

    test('NUL, lone surrogates, a 5 MB prompt and right-to-left text are stored', async () => {
      await empty();
      const prompt = `${'مرحبا "\\ 😀'.repeat(400_000)}`;
      const span = spanWith({
        'gen_ai.input.messages': prompt,
        'observatory.prompt_template_id': 'a\0b\udfff',
        'bad\0key': ['x\0', '\ud800'],
      });
      assert.ok(Buffer.byteLength(prompt) > 5_000_000);
      // Beyond the default limits, which keep the event loop free.
      const limits = { maxAttributeChars: 8_388_608, maxJsonChars: 8_388_608 };
      const exporter = new PostgresSpanExporter({ connection: db, ...limits });
      assert.deepEqual(await exportSpans(exporter, [span]), { code: 0 });
      const [row] = await readRows(db);
      assert.equal(row?.prompt_template_id, 'a\ufffdb\ufffd');
      assert.deepEqual(row?.attributes, {
        'gen_ai.input.messages': prompt,
        'bad\ufffdkey': ['x\ufffd', '\ufffd'],
        [SANITIZED_ATTRIBUTE]: ['observatory.prompt_template_id', 'bad\ufffdkey'],
      });
    });

    test('an indexed text of the greatest length that is let through fits the index', async () => {
      await empty();
      const text = Array.from({ length: 512 }, (_, i) =>
        String.fromCharCode(0x4e00 + ((i * 7919) % 20_000)),
      ).join('');
      const span = spanWith(
        {
          'observatory.model': text,
          'observatory.prompt_hash': text,
          'observatory.normalized_prompt_hash': text,
        },
        { service: text },
      );
      assert.deepEqual(await exportTo(db, [span]), { code: 0 });
      const [row] = await readRows(db);
      assert.equal(row?.service, text);
      assert.equal(row?.model, text);
    });

    test('values nested as deep as they are kept are valid jsonb', async () => {
      await empty();
      let deep: unknown = 'bottom';
      for (let i = 0; i < 5000; i += 1) deep = i % 2 === 0 ? [deep] : { deep };
      assert.deepEqual(await exportTo(db, [altered(spanWith({}), { attributes: { deep } })]), { code: 0 });
      const [row] = await readRows(db);
      assert.deepEqual(row?.attributes[TRUNCATED_ATTRIBUTE], ['deep']);
    });

    test('large exports are cut into statements of the given size', async () => {
      await empty();
      const counted = counting(db);
      const spans = randomSpans(25, 3);
      const byRows = new PostgresSpanExporter({ connection: counted, maxRowsPerStatement: 10 });
      assert.deepEqual(await exportSpans(byRows, spans), { code: 0 });
      assert.equal(counted.statements, 3);
      const byChars = new PostgresSpanExporter({ connection: counted, maxCharsPerStatement: 1 });
      assert.deepEqual(await exportSpans(byChars, spans), { code: 0 });
      assert.equal(counted.statements, 3 + 25);
      assert.equal(await countRows(db), 25);
    });

    test('a span the table refuses does not take the others with it, and its data is not told', async () => {
      await empty();
      await db.query(`ALTER TABLE mcp_traces ADD CONSTRAINT no_poison CHECK (risk_tier <> 'poison')`);
      try {
        const spans = Array.from({ length: 100 }, (_, i) =>
          spanWith({ 'observatory.risk_tier': i % 40 === 7 ? 'poison' : 'low', secret: 'S3CR3T' }),
        );
        const exporter = new PostgresSpanExporter({ connection: db });
        const result = await exportSpans(exporter, spans);
        assert.equal(result.code, 1);
        assert.match(
          String(result.error?.message),
          /^3 of 100 spans were refused.*the other 97 are.*no_poison/,
        );
        assert.doesNotMatch(JSON.stringify(flatten(result.error)), /S3CR3T/);
        assert.equal(await countRows(db), 97);
        assert.deepEqual(exporter.stats, {
          exported: 97,
          sanitised: 0,
          truncated: 0,
          failed: 0,
          refused: 3,
        });
      } finally {
        await db.query('ALTER TABLE mcp_traces DROP CONSTRAINT no_poison');
      }
    });

    test('a table that takes no row refuses none: the export fails after few statements and says why', async () => {
      await empty();
      await db.query('ALTER TABLE mcp_traces ADD CONSTRAINT refuse_all CHECK (false) NOT VALID');
      try {
        const counted = counting(db);
        const exporter = new PostgresSpanExporter({ connection: counted });
        const { code, error } = await exportSpans(exporter, randomSpans(400, 5));
        assert.equal(code, 1);
        assert.ok(ObservatoryError.isInstance(error) && error.code === 'DATABASE_TABLE_REFUSES');
        assert.match(error.message, /takes no rows.*"refuse_all"/);
        assert.ok(counted.statements < 20, `${counted.statements} statements`);
        const { exported, failed, refused } = exporter.stats;
        assert.deepEqual([exported, failed, refused], [0, 400, 0]);
      } finally {
        await db.query('ALTER TABLE mcp_traces DROP CONSTRAINT refuse_all');
      }
    });

    test('a span that fails alone is refused if the table still takes one that it took before', async (t) => {
      if (databases.name !== 'Postgres') return t.skip('only a server can take back what was tried');
      await empty();
      await db.query(`ALTER TABLE mcp_traces ADD CONSTRAINT no_poison CHECK (risk_tier <> 'poison')`);
      const poison = spanWith({ 'observatory.risk_tier': 'poison' });
      try {
        for (const copy of [true, false]) {
          const exporter = new PostgresSpanExporter({ connection: db, copy });
          const first = await exportSpans(exporter, [poison]);
          assert.ok(
            ObservatoryError.isInstance(first.error) && first.error.code === 'DATABASE_TABLE_REFUSES',
          );
          assert.deepEqual(await exportSpans(exporter, [spanWith({ 'observatory.risk_tier': 'low' })]), {
            code: 0,
          });
          const again = await exportSpans(exporter, [poison]);
          assert.ok(again.error !== undefined && 'refusedSpans' in again.error);
          assert.deepEqual(again.error.refusedSpans, [poison]);
        }
        assert.equal(await countRows(db), 2, 'what was tried is not there');
      } finally {
        await db.query('ALTER TABLE mcp_traces DROP CONSTRAINT no_poison');
      }
    });

    test('the view gives ids as OpenTelemetry writes them, and all other columns', async () => {
      await empty();
      const [child, parent] = recordSpans((tracer) => {
        tracer.startActiveSpan('parent', (span) => {
          tracer.startSpan('child').end();
          span.end();
        });
      });
      assert.ok(child && parent);
      const linked = altered(child, { parentSpanContext: parent.spanContext() });
      assert.deepEqual(await exportTo(db, [linked]), { code: 0 });
      const { rows } = await db.query('SELECT trace_id, span_id, parent_span_id FROM mcp_traces_hex');
      const { traceId, spanId } = child.spanContext();
      assert.deepEqual(rows, [
        { trace_id: traceId, span_id: spanId, parent_span_id: parent.spanContext().spanId },
      ]);
      const names = await db.query(
        `SELECT table_name, string_agg(column_name, ',' ORDER BY ordinal_position) AS columns
         FROM information_schema.columns WHERE table_name IN ('mcp_traces', 'mcp_traces_hex') AND column_name <> 'ingest_xid' GROUP BY table_name`,
      );
      assert.equal(names.rows.length, 2);
      assert.equal(names.rows[0]?.columns, names.rows[1]?.columns);
    });
  });
}

function exportTo(connection: Queryable, spans: readonly ReadableSpan[]): Promise<ExportResult> {
  return exportSpans(new PostgresSpanExporter({ connection }), spans);
}

/** A mapped row, its JSON columns after JSON, in which -0 is 0. */
function asStored(span: ReadableSpan): TraceRow {
  const row = spanToRow(span);
  const { attributes, resource, events, links } = row;
  return { ...row, ...(JSON.parse(JSON.stringify({ attributes, resource, events, links })) as object) };
}

function byId(rows: readonly TraceRow[]): ReadonlyMap<string, unknown> {
  return new Map(
    rows.map((row) => [row.span_id, { ...row }] as const).sort(([a], [b]) => a.localeCompare(b)),
  );
}

function counting(db: Queryable): Queryable & { statements: number } {
  const counted = {
    statements: 0,
    query: (text: string, values?: readonly unknown[]) => {
      counted.statements += 1;
      return db.query(text, values);
    },
  };
  return counted;
}

/** All that a log of the error could show. */
function flatten(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const own = Object.fromEntries(
    Object.getOwnPropertyNames(error).map((name) => [name, Reflect.get(error, name)]),
  );
  return { ...own, cause: flatten(error.cause) };
}
