import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { DecodeError, decodeJson, decodeProtobuf, encodeProtobuf as encodeSpans } from '../src/otlp/index.ts';
import { DIALECT_CASES } from './support/dialect-cases.ts';
import { onTheWire } from './support/on-the-wire.ts';
import {
  anyValue,
  encodeJson,
  encodeNestedLists,
  encodeProtobuf,
  encodeWideList,
  requestJson,
} from './support/otlp-encode.ts';
import { seededRandom } from './support/random.ts';
import { randomSpans } from './support/random-spans.ts';
import { sized } from './support/size.ts';
import { recordSpan } from './support/span-fixture.ts';
import { spanToRow } from './support/span-row.ts';
import { altered } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const MAX_SPANS = 10_000;

/** Requests changed at random, for each form and in each of two rounds. */
const FUZZ_CASES = Number(process.env.COLLECTOR_FUZZ_CASES ?? sized(300, 50_000));

/** Half of what the requests of one round take. */
const MAX_GROWTH_BYTES = 8 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How each form of OTLP is written from the JSON form, and read. */
const FORMS = {
  protobuf: { write: encodeProtobuf, read: decodeProtobuf, deep: encodeNestedLists, wide: encodeWideList },
  json: {
    write: (request: object) => Buffer.from(JSON.stringify(request)),
    read: decodeJson,
    wide: (length: number) => {
      const list = '@@';
      const json = JSON.stringify(
        requestOf({ attributes: [{ key: 'k', value: { arrayValue: { values: list } } }] }),
      );
      return Buffer.from(json.replace(`"${list}"`, `[{}${',{}'.repeat(length - 1)}]`));
    },
    deep: (levels: number) => encodeJson([altered(recordSpan({}), { attributes: { deep: nested(levels) } })]),
  },
} as const;

/** A text within so many lists. */
function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let i = 0; i < levels; i += 1) value = [value];
  return value;
}

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

function requestOf(span: object): { resourceSpans: readonly unknown[] } {
  return { resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: TRACE_ID, spanId: SPAN_ID, ...span }] }] }] };
}

for (const [name, { write, read, deep, wide }] of Object.entries(FORMS)) {
  describe(`decoding of OTLP ${name}`, () => {
    const decodeOne = (span: object): ReadableSpan => {
      const [found] = read(write(requestOf(span)), MAX_SPANS).spans;
      assert.ok(found);
      return found;
    };

    test('gives spans that become the rows of the spans that were sent', () => {
      const spans = [
        ...randomSpans(120, 7).map(onTheWire),
        ...DIALECT_CASES.map(({ span }) => recordSpan(span)),
      ];
      const received = read(write(requestJson(spans)), MAX_SPANS).spans;
      assert.equal(received.length, spans.length);
      for (const [i, span] of spans.entries())
        assert.deepEqual(spanToRow(received[i] as never), spanToRow(span));
    });

    test('gives spans that the spool keeps as they are', () => {
      const { spans } = read(write(requestJson(randomSpans(30, 8))), MAX_SPANS);
      for (const [i, span] of decodeProtobuf(encodeSpans(spans), MAX_SPANS).spans.entries()) {
        assert.deepEqual(spanToRow(span), spanToRow(spans[i] as never));
      }
    });

    const values: readonly (readonly [string, object, unknown])[] = [
      ['the largest int64', { intValue: '9223372036854775807' }, 9223372036854775807n],
      ['the smallest int64', { intValue: '-9223372036854775808' }, -(2 ** 63)],
      ['an int64 no double holds', { intValue: '9007199254740993' }, 9007199254740993n],
      ['a large int64 that a double holds', { intValue: '1200000000000000000' }, 1.2e18],
      ['-1', { intValue: '-1' }, -1],
      ['not a number', { doubleValue: 'NaN' }, Number.NaN],
      ['minus infinity', { doubleValue: '-Infinity' }, Number.NEGATIVE_INFINITY],
      ['minus zero', { doubleValue: '-0' }, -0],
      ['an empty text', { stringValue: '' }, ''],
      ['false', { boolValue: false }, false],
      ['bytes', { bytesValue: 'AP8=' }, new Uint8Array([0, 255])],
      ['nothing', {}, null],
      ['an empty list', { arrayValue: {} }, []],
      ['an empty record', { kvlistValue: {} }, {}],
      [
        'a record in a list in a record',
        anyValue({ a: [{ b: [1, 'x', null] }] }),
        { a: [{ b: [1, 'x', null] }] },
      ],
    ];
    for (const [what, value, expected] of values) {
      test(`reads ${what}`, () => {
        assert.deepEqual(decodeOne({ attributes: [{ key: 'k', value }] }).attributes, { k: expected });
      });
    }

    test('reads the attributes of a scope and how many were dropped, and the spool keeps them', () => {
      const scope = {
        name: 'lib',
        version: '1',
        attributes: [{ key: 'team', value: { stringValue: 'payments' } }],
        droppedAttributesCount: 3,
      };
      const spans = [
        { traceId: TRACE_ID, spanId: SPAN_ID },
        { traceId: TRACE_ID, spanId: SPAN_ID },
      ];
      const { spans: found } = read(write({ resourceSpans: [{ scopeSpans: [{ spans, scope }] }] }), 10);
      const expected = {
        name: 'lib',
        version: '1',
        attributes: { team: 'payments' },
        droppedAttributesCount: 3,
      };
      assert.deepEqual(
        found.map(({ instrumentationScope }) => instrumentationScope),
        [expected, expected],
      );
      const rows = decodeProtobuf(encodeSpans(found), MAX_SPANS).spans.map(
        (span) => spanToRow(span).attributes,
      );
      assert.deepEqual(rows[1]?.['otel.scope.attributes'], { team: 'payments' });
    });

    test('reads times of all 64 bits exactly', () => {
      const span = decodeOne({
        startTimeUnixNano: '1544712660300000001',
        endTimeUnixNano: '18446744073709551615',
      });
      assert.deepEqual(span.startTime, [1544712660, 300000001]);
      assert.deepEqual(span.endTime, [18446744073, 709551615]);
      assert.deepEqual(span.duration, [16902031413, 409551614]);
      assert.deepEqual(decodeOne({ startTimeUnixNano: '999' }).startTime, [0, 999]);
    });

    test('reads a span of nothing but ids as one with defaults', () => {
      const span = decodeOne({});
      const { name, kind, status, attributes, events, links, instrumentationScope } = span;
      assert.deepEqual(
        { name, kind, status, attributes, events, links, scope: instrumentationScope.name },
        { name: '', kind: 0, status: { code: 0 }, attributes: {}, events: [], links: [], scope: '' },
      );
      assert.equal(span.parentSpanContext, undefined);
    });

    test('takes an attribute named __proto__ as any other, and the last value of a name', () => {
      const attributes = [
        { key: '__proto__', value: { stringValue: 'mine' } },
        { key: 'twice', value: { intValue: '1' } },
        { key: 'twice', value: { intValue: '2' } },
      ];
      const span = decodeOne({ attributes });
      assert.deepEqual(Object.entries(span.attributes), [
        ['__proto__', 'mine'],
        ['twice', 2],
      ]);
      assert.equal(Object.getPrototypeOf(span.attributes), Object.prototype);
    });

    test('tells a remote parent, and that nothing is known of it', () => {
      const parentSpanId = '00f067aa0ba902b7';
      assert.equal(decodeOne({ parentSpanId, flags: 0x301 }).parentSpanContext?.isRemote, true);
      assert.equal(decodeOne({ parentSpanId, flags: 0x101 }).parentSpanContext?.isRemote, false);
      assert.equal(decodeOne({ parentSpanId }).parentSpanContext?.isRemote, undefined);
      assert.equal(decodeOne({}).spanContext().traceFlags, 1);
    });

    test('cuts values off that are nested deeper than a row keeps', () => {
      const [kept] = read(deep(90), MAX_SPANS).spans;
      assert.deepEqual(kept?.attributes, { deep: nested(90) });
      for (const levels of [101, 160]) {
        const [cut] = read(deep(levels), MAX_SPANS).spans;
        assert.match(JSON.stringify(spanToRow(cut as never).attributes), /nested deeper than 100 levels/);
      }
    });

    test('refuses more spans, or more values, than one request may hold', () => {
      const spans = Array.from({ length: 11 }, () => ({ traceId: TRACE_ID, spanId: SPAN_ID }));
      const many = write({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
      assert.throws(() => read(many, 10), { reason: 'too_large' });
      assert.equal(read(many, 11).spans.length, 11);
      assert.throws(() => read(wide(1_000_001), 10), { reason: 'too_large' });
    });

    test('throws nothing but what it means to for bytes that were changed at random, and keeps no memory', async () => {
      const random = seededRandom(42);
      const body = write(requestJson(randomSpans(4, 9)));
      const tryMany = (cases: number) => {
        for (let i = 0; i < cases; i += 1) {
          const changed = Buffer.from(body);
          for (let n = 0; n <= random() * 6; n += 1) {
            changed[Math.floor(random() * changed.length)] = Math.floor(random() * 256);
          }
          const part = random() < 0.3 ? changed.subarray(0, Math.floor(random() * changed.length)) : changed;
          try {
            for (const span of read(part, MAX_SPANS).spans) span.spanContext();
          } catch (error) {
            assert.ok(error instanceof DecodeError, `${i}: ${(error as Error).stack}`);
          }
        }
      };
      // What grows the first time is code and caches; what is kept grows again.
      tryMany(FUZZ_CASES);
      const before = heapBytes();
      tryMany(FUZZ_CASES);
      // A thread frees the buffers, some time after they were found to be garbage.
      await waitUntil(() => heapBytes() - before < MAX_GROWTH_BYTES);
    });
  });
}

describe('decoding of protobuf', () => {
  const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
  const message = (field: number, body: Buffer) =>
    Buffer.concat([Buffer.from([field * 8 + 2, body.length]), body]);
  const wrapped = (...fields: Buffer[]) => {
    const ids = [message(1, Buffer.from(TRACE_ID, 'hex')), message(2, Buffer.from(SPAN_ID, 'hex'))];
    return message(1, message(2, message(2, Buffer.concat([...ids, ...fields]))));
  };

  test('passes over unknown fields of every wire type, groups too', () => {
    const unknown = [
      'a0 06 ff ff ff ff 0f',
      'a1 06 00 00 00 00 00 00 00 00',
      'a2 06 02 61 62',
      'a5 06 00 00 00 00',
    ];
    const group = 'a3 06 08 01 a3 06 12 01 61 a4 06 a4 06';
    const body = wrapped(...unknown.map(hex), hex(group), message(5, Buffer.from('name')));
    const [span] = decodeProtobuf(Buffer.concat([hex('a0 06 01'), body]), 10).spans;
    assert.equal(span?.name, 'name');
  });

  test('passes over a known field of another wire type', () => {
    const [span] = decodeProtobuf(wrapped(hex('28 07'), message(5, Buffer.from('name'))), 10).spans;
    assert.equal(span?.name, 'name');
  });

  test('finds the resource and the scope also behind the spans', () => {
    const text = (field: number, value: string) => message(field, Buffer.from(value));
    const service = message(1, Buffer.concat([text(1, 'service.name'), message(2, text(1, 'late'))]));
    const span = message(2, message(1, Buffer.from(TRACE_ID, 'hex')));
    const scope = message(2, Buffer.concat([span, message(1, text(1, 'scope'))]));
    const [found] = decodeProtobuf(message(1, Buffer.concat([scope, message(1, service)])), 10).spans;
    assert.equal(found?.instrumentationScope.name, 'scope');
    assert.deepEqual(found?.resource.attributes, { 'service.name': 'late' });
  });

  const bad: readonly (readonly [string, string])[] = [
    ['a length beyond the end', '0a 05 00'],
    ['a length of 4 GiB', '0a ff ff ff ff 0f'],
    ['a length of 2^63', '0a ff ff ff ff ff ff ff ff 7f'],
    ['a number of more than ten bytes', '08 ff ff ff ff ff ff ff ff ff ff 01'],
    ['a tag without a value', '08'],
    ['half a tag', '80'],
    ['field number 0', '00 00'],
    ['wire type 6', '0e'],
    ['a group without an end', 'a3 06 08 01'],
    ['the end of a group without a beginning', 'a4 06'],
    ['groups nested without end', 'a3 06 '.repeat(200)],
    ['a fixed64 that is cut off', 'a1 06 00 00'],
    ['a field that ends behind its message', '0a 03 12 05 0a 03 61 62 63'],
  ];
  for (const [name, bytes] of bad) {
    test(`refuses ${name}`, () => {
      assert.throws(() => decodeProtobuf(hex(bytes), 10), { name: 'DecodeError', reason: 'malformed' });
    });
  }

  test('reads nothing as no spans', () => {
    assert.deepEqual(decodeProtobuf(Buffer.alloc(0), 10), { spans: [], items: 0 });
  });
});

describe('decoding of JSON', () => {
  const bad: readonly (readonly [string, string])[] = [
    ['no JSON', '{"resourceSpans":'],
    ['nothing', ''],
    ['a list', '[]'],
    ['a text for a list', '{"resourceSpans":"x"}'],
    ['a number for a span', '{"resourceSpans":[{"scopeSpans":[{"spans":[7]}]}]}'],
    [
      'a text for a bool',
      JSON.stringify(requestOf({ attributes: [{ key: 'k', value: { boolValue: 'yes' } }] })),
    ],
    ['half an integer', JSON.stringify(requestOf({ attributes: [{ key: 'k', value: { intValue: 1.5 } }] }))],
    [
      'an integer of 65 bits',
      JSON.stringify(requestOf({ attributes: [{ key: 'k', value: { intValue: '9223372036854775808' } }] })),
    ],
    ['a negative time', JSON.stringify(requestOf({ startTimeUnixNano: '-1' }))],
    ['a time of 65 bits', JSON.stringify(requestOf({ startTimeUnixNano: '18446744073709551616' }))],
    ['an enum by its name', JSON.stringify(requestOf({ kind: 'SPAN_KIND_SERVER' }))],
    ['lists nested without end', '['.repeat(100_000)],
  ];
  for (const [name, text] of bad) {
    test(`refuses ${name}, without quoting it`, () => {
      assert.throws(
        () => decodeJson(Buffer.from(text), 10),
        (error: Error) => {
          assert.ok(error instanceof DecodeError);
          assert.equal(error.reason, 'malformed');
          assert.doesNotMatch(error.message, /yes|SERVER/);
          return true;
        },
      );
    });
  }

  test('refuses what is not UTF-8', () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    assert.throws(() => decodeJson(body, 10), { reason: 'malformed' });
  });

  test('takes ids in upper case, numbers for strings of digits, null for absent, and unknown names', () => {
    const json = {
      resourceSpans: [
        {
          resource: null,
          scopeSpans: [
            {
              spans: [
                {
                  traceId: TRACE_ID.toUpperCase(),
                  spanId: SPAN_ID,
                  name: null,
                  kind: '3',
                  startTimeUnixNano: 1500,
                  attributes: [{ key: 'n', value: { intValue: 7 } }],
                  brandNew: { nested: [1] },
                },
              ],
            },
          ],
        },
      ],
      resource_spans: [{}],
    };
    const [span, ...more] = decodeJson(Buffer.from(JSON.stringify(json)), 10).spans;
    assert.equal(more.length, 0);
    assert.equal(span?.traceId, TRACE_ID);
    assert.deepEqual([span?.kind, span?.startTime, span?.attributes], [2, [0, 1500], { n: 7 }]);
  });

  test('reads the names of the .proto files, also among others, and leaves those of attributes alone', () => {
    const span = recordSpan({ attributes: { userId: 'u', user_id: 'v' } });
    const camel = encodeJson([span]);
    const snake = camel
      .toString()
      .replace(/"[a-z]+[A-Z][A-Za-z]*":/g, (name) =>
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      );
    assert.match(snake, /"resource_spans".*"scope_spans".*"start_time_unix_nano"/s);
    const mixed = snake.replace('"resource_spans"', '"resourceSpans"').replaceAll('int_value', 'intValue');
    const [expected, ...read] = [camel, snake, mixed].map((body) =>
      decodeJson(Buffer.from(body), 10).spans.map(spanToRow),
    );
    assert.deepEqual(read, [expected, expected]);
    assert.equal(decodeJson(Buffer.from(snake), 10).spans[0]?.attributes.userId, 'u');
  });

  test('counts no brackets in texts', () => {
    const text = `${'['.repeat(5000)}\\"${'{'.repeat(5000)}\\`;
    const json = encodeJson([recordSpan({ attributes: { text } })]);
    assert.equal(decodeJson(json, 10).spans[0]?.attributes.text, text);
  });
});
