import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { COLUMNS, FIELDS, type FieldDefinition } from '../src/base/fields.ts';
import { testDatabases } from './support/databases.ts';
import { seededRandom } from './support/random.ts';
import { ATTRIBUTE_FIELDS, randomValue } from './support/random-spans.ts';
import { longTest } from './support/size.ts';
import { spanToRow } from './support/span-row.ts';
import { recordSpans, spanWith } from './support/spans.ts';

const fields: readonly FieldDefinition[] = FIELDS;
const root = fileURLToPath(new URL('../../', import.meta.url));
const generate = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(root, 'dist/scripts/generate.js'), ...args]);

for (const databases of testDatabases()) {
  describe(`the table on ${databases.name}`, { skip: databases.skip }, () => {
    after(() => databases[Symbol.asyncDispose]());

    test('has the columns of the dictionary, and one for roll-ups: name, order, type, nullability and comment', async () => {
      const db = await databases.createMigrated();
      const { rows } = await db.query(
        `SELECT attname AS column, format_type(atttypid, atttypmod) AS type, attnotnull AS not_null,
           col_description(attrelid, attnum) AS comment
         FROM pg_attribute WHERE attrelid = 'mcp_traces'::regclass AND attnum > 0 AND NOT attisdropped
           AND attname <> 'ingest_xid' ORDER BY attnum`,
      );
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        fields.map((field) => ({
          column: field.column,
          type: field.sqlType === 'timestamptz' ? 'timestamp with time zone' : field.sqlType,
          not_null: field.notNull,
          comment: field.description,
        })),
      );
    });

    test('limits the length of exactly those texts that are indexed', async () => {
      const db = await databases.createMigrated();
      const { rows } = await db.query(
        `SELECT DISTINCT attname AS column FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
         WHERE indrelid = 'mcp_traces'::regclass AND atttypid = 'text'::regtype ORDER BY 1`,
      );
      const long = 'x'.repeat(5000);
      // A call that is counted on another span has no usage, whatever its text.
      const names = ATTRIBUTE_FIELDS.filter(
        (field) => field.sqlType === 'text' && !('words' in field) && field.column !== 'counted_on',
      ).map((field) => field.column);
      const attributes = Object.fromEntries(names.map((column) => [`observatory.${column}`, long]));
      const row = spanToRow(spanWith(attributes, { service: long }));
      const limited = [...names, 'service' as const].filter((column) => row[column] === null).sort();
      assert.deepEqual(
        limited,
        rows.map((found) => found.column),
      );
    });
  });
}

describe('schema/mcp_traces_row.schema.json', () => {
  const schema = JSON.parse(readFileSync(join(root, 'schema/mcp_traces_row.schema.json'), 'utf8')) as {
    required: string[];
    properties: Record<string, unknown>;
  };
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);

  test('names the columns of the dictionary', () => {
    assert.deepEqual(Object.keys(schema.properties), COLUMNS);
    assert.deepEqual(schema.required, COLUMNS);
  });

  test('accepts the rows of real spans', () => {
    const random = seededRandom(1);
    for (let i = 0; i < 100; i += 1) {
      const values = ATTRIBUTE_FIELDS.map((field) => [
        `observatory.${field.column}`,
        randomValue(field, random),
      ]);
      const [span] = recordSpans((tracer) => {
        const started = tracer.startSpan('chat', { attributes: Object.fromEntries(values) });
        started.addEvent('event', { a: 1 });
        started.addLink({ context: started.spanContext() });
        started.end();
      });
      assert.ok(span);
      assert.ok(validate(spanToRow(span)), JSON.stringify(validate.errors));
    }
    assert.ok(validate(spanToRow(spanWith({}))), JSON.stringify(validate.errors));
  });

  test('refuses a row with any column of another type, absent, or unknown', () => {
    const row = spanToRow(spanWith({}));
    for (const { column } of fields) {
      assert.ok(!validate({ ...row, [column]: Symbol.iterator }), `${column} of another type`);
      const without = Object.entries(row).filter(([name]) => name !== column);
      assert.ok(!validate(Object.fromEntries(without)), `${column} absent`);
    }
    assert.ok(!validate({ ...row, extra: 1 }));
    for (const { column } of fields.filter((field) => field.notNull)) {
      assert.ok(!validate({ ...row, [column]: null }), `${column} null`);
    }
  });
});

describe('npm run generate', () => {
  test('a page of the docs holds every field', () => {
    const page = readFileSync(join(root, 'docs/fields.md'), 'utf8');
    for (const { column } of fields) assert.ok(page.includes(`\n- \`${column}\`: `), column);
  });

  longTest('writes all files, and --check fails on each that is stale', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'observatory-generate-'));
    try {
      await generate('--root', folder);
      await generate('--root', folder, '--check');
      const files = ['docs/fields.md', 'schema/postgres.sql', 'schema/mcp_traces_row.schema.json'];
      for (const file of files) {
        const path = join(folder, file);
        writeFileSync(path, readFileSync(path, 'utf8').replaceAll('prompt', 'pormpt'));
      }
      await assert.rejects(
        generate('--root', folder, '--check'),
        (error: { code: number; stdout: string }) => {
          assert.equal(error.code, 1);
          for (const file of files) assert.ok(error.stdout.includes(`${file}: would change`), file);
          assert.equal(error.stdout.match(/would change/g)?.length, files.length);
          return true;
        },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
