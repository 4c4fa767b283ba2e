import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { RowEncoder } from '../src/postgres/row-encoder.ts';
import { resolveRowLimits } from '../src/postgres/row-limits.ts';
import { seededRandom } from './support/random.ts';
import { ATTRIBUTE_FIELDS, randomSpans, randomText } from './support/random-spans.ts';
import { sized } from './support/size.ts';
import { altered, spanWith } from './support/spans.ts';

const LIMITS = resolveRowLimits({});

/** Names that are changed when they are stored, that are long, or that mean something. */
const ODD_NAMES = [
  '',
  '\0',
  'a\ud800',
  '"\\\n',
  'é😀',
  'constructor',
  'hasOwnProperty',
  'n'.repeat(128),
  'n'.repeat(129),
  `${'n'.repeat(1024)}1`,
  `${'n'.repeat(1024)}2`,
  'observatory.sanitised',
  'observatory.truncated',
  'otel.scope.version',
  'otel.scope.attributes',
  'gen_ai.',
  'gen_ai.operation.name',
  'mcp.method.name',
  ...ATTRIBUTE_FIELDS.flatMap(({ column, sources }) => [`observatory.${column}`, ...sources]),
];
const ODD_VALUES = [
  'x',
  '\0',
  'chat',
  'tools/call',
  7,
  0.5,
  true,
  ['a'],
  ['a', 'b'],
  undefined,
  'é',
  '"\n',
  {},
];

function oddSpans(count: number, seed: number): ReadableSpan[] {
  const random = seededRandom(seed);
  const oneOf = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  return Array.from({ length: count }, (_, i) => {
    // Some spans have names that no other has, of which there are more than the encoder keeps.
    const own = i % 4 === 0 ? Array.from({ length: 30 }, (__, n) => `${i}.${n}${randomText(random)}`) : [];
    const names = [...own, ...Array.from({ length: 25 }, () => oneOf(ODD_NAMES))];
    const attributes = Object.fromEntries(names.map((name) => [name, oneOf(ODD_VALUES)]));
    return altered(spanWith({}), { attributes });
  });
}

test('a row does not depend on the spans that were encoded before', () => {
  const spans = [...oddSpans(sized(200, 1000), 20_261_123), ...randomSpans(sized(50, 200), 20_261_124)];
  const random = seededRandom(20_261_125);
  // Each span several times, in any order, with its attributes in any order too.
  const mixed = Array.from({ length: 3 * spans.length }, () => {
    const span = spans[Math.floor(random() * spans.length)] as ReadableSpan;
    if (random() < 0.5) return span;
    const entries = Object.entries(span.attributes).sort(() => random() - 0.5);
    return altered(span, { attributes: Object.fromEntries(entries) });
  });
  const used = new RowEncoder(LIMITS);
  for (const span of mixed) {
    const fresh = new RowEncoder(LIMITS);
    assert.deepEqual(rowOf(used, span), rowOf(fresh, span));
    assert.deepEqual(used.values(span), fresh.values(span));
  }
});

test('a span whose values cannot be read leaves nothing behind for the next', () => {
  const used = new RowEncoder(LIMITS);
  const whole = spanWith({ note: 'kept', 'observatory.risk_tier': 'low' });
  const broken = {
    get inner(): never {
      throw new Error('cannot be read');
    },
  };
  const attributes = {
    note: 'lost',
    'observatory.risk_tier': 'lost',
    broken,
  } as unknown as typeof whole.attributes;
  assert.throws(() => used.binary(altered(whole, { attributes })), /cannot be read/);
  assert.throws(() => used.values(altered(whole, { attributes })), /cannot be read/);
  const fresh = new RowEncoder(LIMITS);
  assert.deepEqual(rowOf(used, whole), rowOf(fresh, whole));
});

function rowOf(encoder: RowEncoder, span: ReadableSpan): [string, boolean, boolean] {
  const { place, isSanitized, isTruncated } = encoder.binary(span);
  return [place.slab.toString('latin1', place.start, place.end), isSanitized, isTruncated];
}
