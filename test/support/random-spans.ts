import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { type AttributeColumn, FIELDS, type FieldDefinition } from '../../src/base/fields.ts';
import { pick, seededRandom } from './random.ts';
import { altered, recordSpans } from './spans.ts';

/** Columns that are set through attributes. */
export const ATTRIBUTE_FIELDS = (FIELDS as readonly FieldDefinition[]).filter(
  (field) => field.origin === 'attribute',
) as readonly (FieldDefinition & { readonly column: AttributeColumn })[];

const TEXTS = [
  '',
  ' ',
  'NULL',
  'null',
  '{}',
  '{a,b}',
  '"',
  '\\',
  '\\"',
  "'",
  '\\\\N',
  ',',
  'a\nb\r\n\tc',
  '\u0001\u007f\u0085',
  '😀👩‍👩‍👧',
  'مرحبا بالعالم',
  '\u202eRTL',
  '\ufeffbom',
  '\uffff',
  '\u2028',
  '%s $1',
  'é',
  '中文',
  '--; DROP TABLE mcp_traces',
];
const FLOATS = [
  0,
  -0,
  1,
  0.1,
  1 / 3,
  5e-324,
  1.7976931348623157e308,
  -1e-7,
  123456.789012345,
  Number.MAX_SAFE_INTEGER,
];
const SHARES = [0, -0, 1, 0.1, 1 / 3, 5e-324];
const COUNTS = [0, 1, 2_147_483_647];

/** A value that the field's column holds. */
export function randomValue(field: FieldDefinition, random: () => number): string | number | boolean {
  if (field.words !== undefined) return pick(field.words, random);
  if (field.isShare === true) return random() < 0.5 ? pick(SHARES, random) : random();
  switch (field.sqlType) {
    case 'integer':
      return random() < 0.5 ? pick(COUNTS, random) : Math.floor(random() * 2 ** 31);
    case 'double precision':
      return random() < 0.5 ? pick(FLOATS, random) : (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20);
    case 'boolean':
      return random() < 0.5;
    case 'uuid':
      return randomUUID();
    default:
      return randomText(random);
  }
}

/** A text that Postgres takes: no NUL, no lone surrogate. */
export function randomText(random: () => number): string {
  if (random() < 0.5) return pick(TEXTS, random);
  const length = Math.floor(random() * 60);
  const points = Array.from({ length }, () => {
    const point = 1 + Math.floor(random() ** 3 * 0x10fffe);
    return point >= 0xd800 && point <= 0xdfff ? 0xfffd : point;
  });
  return String.fromCodePoint(...points);
}

/** Spans with random columns, attributes in the forms of SDK 3, of some scopes too, events and links. */
export function randomSpans(count: number, seed: number): ReadableSpan[] {
  const random = seededRandom(seed);
  const value = (depth: number): unknown => {
    const kind = Math.floor(random() * (depth > 3 ? 5 : 8));
    if (kind === 0) return random() < 0.5;
    if (kind === 1) return Math.floor(random() * 1e6);
    if (kind === 2) return (random() - 0.5) * 10 ** Math.floor(random() * 600 - 300);
    if (kind === 3) return null;
    if (kind === 4) return `${randomText(random)}${random() < 0.1 ? '\0\ud800' : ''}`;
    if (kind === 5) return new Uint8Array([1, 2, Math.floor(random() * 256)]);
    const items = Array.from({ length: Math.floor(random() * 4) }, () => value(depth + 1));
    return kind === 6 ? items : Object.fromEntries(items.map((item) => [randomText(random), item]));
  };
  return Array.from({ length: count }, () => {
    const chosen = ATTRIBUTE_FIELDS.filter(() => random() < 0.3);
    const columns = chosen.map((field) => [
      random() < 0.5 ? (field.sources[0] ?? `observatory.${field.column}`) : `observatory.${field.column}`,
      random() < 0.8 ? randomValue(field, random) : value(0),
    ]);
    const others = Array.from({ length: 5 }, () => [randomText(random), value(0)]);
    const [span] = recordSpans((tracer) => {
      const started = tracer.startSpan(randomText(random));
      started.addEvent(randomText(random), { note: randomText(random) });
      started.addLink({ context: started.spanContext(), attributes: { why: randomText(random) } });
      started.end();
    });
    assert.ok(span);
    const attributes = Object.fromEntries([...columns, ...others]);
    if (random() < 0.7) return altered(span, { attributes });
    const scope = {
      ...span.instrumentationScope,
      attributes: { [randomText(random)]: value(0), [randomText(random)]: value(0) },
      droppedAttributesCount: Math.floor(random() * 3),
    };
    return altered(span, { attributes, instrumentationScope: scope });
  });
}
