import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { PostgresSpanExporter, type Queryable } from '../src/postgres/index.ts';
import { SANITIZED_ATTRIBUTE } from '../src/postgres/marks.ts';
import { readRows, testDatabases } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { seededRandom } from './support/random.ts';
import { sized } from './support/size.ts';
import { altered, spanWith } from './support/spans.ts';
import { storedJson, storedText } from './support/stored-json.ts';

const SEED = 20_261_122;
const SPANS = sized(40, 90);
const SCALARS = [
  0,
  -0,
  1e-323,
  -1.7976931348623157e308,
  2 ** 53 + 2,
  0.1 + 0.2,
  1e21,
  123_456_789_012_345_680_000,
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  true,
  false,
  null,
  undefined,
  10n ** 40n,
  '',
  '\0',
  '\ud800',
  '\udfff\ud800',
  'a\ud83d',
  '\ude00b',
  '😀',
  '"\\/\b\f\n\r\t\u0001\u001f\u007f\u0085\u2028\u2029',
  '\\u0000',
  '{"a":1}',
  "'; DROP TABLE mcp_traces; --",
  '$1',
  '\ufeff',
  'ﷺ'.repeat(500),
  'é'.repeat(129),
  'x'.repeat(127),
  'x'.repeat(128),
  'x'.repeat(129),
  `${'x'.repeat(100_000)}\0`,
  '\u0001'.repeat(30_000),
  '中'.repeat(100_000),
];

/** Any value, nested at times, and text of any code units, half pairs and NUL among them. */
function anyValue(random: () => number, depth = 0): unknown {
  const kind = random();
  if (kind < 0.4) return SCALARS[Math.floor(random() * SCALARS.length)];
  if (kind < 0.6) return anyText(random);
  if (kind < 0.7) return (random() - 0.5) * 10 ** Math.floor(random() * 616 - 308);
  if (kind < 0.75)
    return new Uint8Array(Array.from({ length: Math.floor(random() * 9) }, () => random() * 256));
  if (depth > 6) return depth;
  const items = Array.from({ length: Math.floor(random() * 5) }, () => anyValue(random, depth + 1));
  if (kind < 0.88) return items;
  return Object.fromEntries(items.map((item, i) => [`${i}${anyText(random)}`, item]));
}

function anyText(random: () => number): string {
  const units = Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() ** 4 * 0x1_0000));
  return String.fromCharCode(...units);
}

function fuzzedSpans(): ReadableSpan[] {
  const random = seededRandom(SEED);
  return Array.from({ length: SPANS }, (_, i) => {
    const wild = Object.fromEntries(
      Array.from({ length: 6 }, (__, n) => [`${n}${anyText(random)}`, anyValue(random)]),
    );
    // Every third span holds nothing that cannot be stored.
    if (i % 3 === 0) return altered(spanWith({}), { attributes: storedJson(wild) });
    const event = { name: anyText(random), time: [i, 1000], attributes: { value: anyValue(random) } };
    const status = { code: 2, message: anyText(random) };
    return altered(spanWith({}), { name: anyText(random), status, attributes: wild, events: [event] });
  });
}

for (const databases of testDatabases()) {
  describe(`fuzzed spans in ${databases.name}`, { skip: databases.skip }, () => {
    let db: Queryable;
    before(async () => {
      db = await databases.createMigrated();
    });
    after(() => databases[Symbol.asyncDispose]());

    for (const copy of databases.name === 'Postgres' ? [true, false] : [false]) {
      test(`come back as they were sent or as is documented, by ${copy ? 'COPY' : 'INSERT'}`, async () => {
        await db.query('TRUNCATE mcp_traces');
        const spans = fuzzedSpans();
        const exporter = new PostgresSpanExporter({ connection: db, copy });
        assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
        const rows = new Map(
          (await readRows(db)).map((row) => [row.span_id.replaceAll('-', '').slice(16), row]),
        );
        let marked = 0;
        for (const span of spans) {
          const row = rows.get(span.spanContext().spanId);
          assert.ok(row);
          const { [SANITIZED_ATTRIBUTE]: marks, ...attributes } = row.attributes;
          assert.deepEqual(attributes, storedJson(span.attributes));
          assert.equal(row.span_name, storedText(span.name));
          assert.equal(row.status_message ?? '', storedText(span.status.message ?? ''));
          const events = (row.events as { name: string; attributes: unknown }[]).map(
            ({ name, attributes: kept }) => ({
              name,
              attributes: kept,
            }),
          );
          const sent = span.events.map(({ name, attributes: given }) => ({ name, attributes: given }));
          assert.deepEqual(events, storedJson(sent));
          assert.equal(marks !== undefined, wasChanged(span), `${span.name}: ${marks}`);
          if (marks !== undefined) marked += 1;
        }
        assert.deepEqual([exporter.stats.sanitised, exporter.stats.truncated], [marked, 0]);
        assert.ok(marked > 0 && marked < SPANS);
      });
    }
  });
}

/** Whether any text of the span had to be changed. */
function wasChanged({ name, status, attributes, events: [event] }: ReadableSpan): boolean {
  let isChanged = false;
  const look = (value: unknown): void => {
    if (typeof value === 'string') isChanged ||= storedText(value) !== value;
    else if (Array.isArray(value)) value.forEach(look);
    else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
      for (const [key, item] of Object.entries(value)) if (item !== undefined) [key, item].forEach(look);
    }
  };
  look([name, status.message, attributes, event?.name, event?.attributes]);
  return isChanged;
}
