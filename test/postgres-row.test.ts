import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createTraceState,
  type HrTime,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { ObservatoryError } from '../src/base/errors.ts';
import { COLUMNS } from '../src/base/fields.ts';
import { SANITIZED_ATTRIBUTE, TRUNCATED_ATTRIBUTE } from '../src/postgres/marks.ts';
import { spanToRow } from './support/span-row.ts';
import { altered, recordSpans, spanWith } from './support/spans.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('spanToRow', () => {
  test('a row has every column of the dictionary, in its order', () => {
    assert.deepEqual(Object.keys(spanToRow(spanWith({}))), COLUMNS);
  });

  test('a span tells ids, times, name, kind, status and scope by itself', () => {
    const parent = trace.setSpanContext(ROOT_CONTEXT, remoteParent());
    const [span] = recordSpans(
      (tracer) => {
        const started = tracer.startSpan(
          'chat gpt-4o',
          { kind: SpanKind.CLIENT, startTime: [1_795_000_000, 123_456_789] },
          parent,
        );
        started.setStatus({ code: SpanStatusCode.ERROR, message: 'rate limited' });
        started.end([1_795_000_001, 999_999_999] satisfies HrTime);
      },
      {
        service: 'payments-mcp',
        resource: { 'host.name': 'h1' },
        scope: ['mcp-observatory', '0.1.0', 'https://s/1'],
      },
    );
    assert.ok(span);
    const row = spanToRow(span);
    assert.equal(row.trace_id, '4bf92f35-77b3-4da6-a3ce-929d0e0e4736');
    assert.equal(row.parent_span_id, '00000000-0000-0000-b7ad-6b7169203331');
    assert.equal(row.span_id.replaceAll('-', '').slice(16), span.spanContext().spanId);
    assert.equal(row.start_time, '2026-11-18T11:06:40.123456Z');
    assert.equal(row.end_time, '2026-11-18T11:06:41.999999Z');
    assert.equal(row.span_name, 'chat gpt-4o');
    assert.equal(row.span_kind, 'client');
    assert.equal(row.status_code, 'error');
    assert.equal(row.status_message, 'rate limited');
    assert.equal(row.scope, 'mcp-observatory');
    assert.equal(row.service, 'payments-mcp');
    assert.deepEqual(row.resource, { 'host.name': 'h1' });
    assert.deepEqual(row.attributes, {
      'otel.scope.version': '0.1.0',
      'otel.scope.schema_url': 'https://s/1',
      'w3c.tracestate': 'vendor=1',
    });
  });

  test('our attribute beats the standard one, which stays in attributes', () => {
    const row = spanToRow(
      spanWith({
        'observatory.model': 'mine',
        'gen_ai.response.model': 'gpt-4o-2024-08-06',
        'gen_ai.request.model': 'gpt-4o',
      }),
    );
    assert.equal(row.model, 'mine');
    assert.deepEqual(row.attributes, {
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.request.model': 'gpt-4o',
    });
  });

  test('an attribute whose column tells all of it is not repeated; an alias fills the column and is kept', () => {
    const row = spanToRow(
      spanWith({
        'gen_ai.response.model': 'gpt-4o',
        'observatory.prompt_hash': 'ab',
        'llm.token_count.prompt': 12,
        'gen_ai.system': 'openai',
        'gen_ai.response.finish_reasons': ['stop', 'length'],
      }),
    );
    assert.equal(row.model, 'gpt-4o');
    assert.equal(row.prompt_hash, 'ab');
    assert.equal(row.prompt_tokens, 12);
    assert.equal(row.provider, 'openai');
    assert.equal(row.finish_reason, 'stop,length');
    assert.deepEqual(row.attributes, {
      'llm.token_count.prompt': 12,
      'gen_ai.system': 'openai',
      'gen_ai.response.finish_reasons': ['stop', 'length'],
    });
  });

  test('a value of the wrong type leaves the column null and stays in attributes', () => {
    const wrong = {
      'observatory.prompt_tokens': '12',
      'observatory.completion_tokens': 1.5,
      'observatory.retries': 2 ** 31,
      'observatory.cost_usd': '0.1',
      'observatory.confidence': true,
      'observatory.fallback_used': 1,
      'observatory.is_shadow': 'true',
      'observatory.shadow_parent_trace_id': 'run-7',
      'observatory.risk_tier': 3,
      'observatory.finish_reason': [1, 2],
    };
    const row = spanToRow(spanWith(wrong));
    for (const name of Object.keys(wrong)) {
      assert.equal(row[name.slice('observatory.'.length) as keyof typeof row], null, name);
    }
    assert.deepEqual(row.attributes, wrong);
  });

  test('a value out of its range leaves the column null and stays in attributes', () => {
    const wrong = {
      'observatory.confidence': 7,
      'observatory.grounding_score': -0.1,
      'observatory.hallucination_risk_level': 'severe',
      'observatory.fallback_type': 'nonsense',
    };
    const row = spanToRow(spanWith(wrong));
    for (const name of Object.keys(wrong))
      assert.equal(row[name.slice('observatory.'.length) as keyof typeof row], null, name);
    assert.deepEqual(row.attributes, wrong);
  });

  test('a source with a usable value fills the column that our attribute could not', () => {
    const row = spanToRow(spanWith({ 'observatory.prompt_tokens': 'many', 'gen_ai.usage.input_tokens': 7 }));
    assert.equal(row.prompt_tokens, 7);
    assert.deepEqual(row.attributes, { 'observatory.prompt_tokens': 'many' });
  });

  test('what a language prints for none is no id', () => {
    for (const none of ['None', 'null', 'undefined']) {
      const row = spanToRow(spanWith({ 'user.id': none, 'session.id': none, 'langfuse.session.id': 's' }));
      assert.deepEqual([row.user_id, row.session_id], [null, 's']);
    }
  });

  test('zero, false and the empty text are values', () => {
    const row = spanToRow(
      spanWith({
        'observatory.cost_usd': 0,
        'observatory.gate_blocked': false,
        'observatory.session_id': '',
      }),
    );
    assert.equal(row.cost_usd, 0);
    assert.equal(row.gate_blocked, false);
    assert.equal(row.session_id, '');
    assert.deepEqual(row.attributes, {});
  });

  test('an integer column takes counts of 31 bits, and what is below 0 stays in attributes', () => {
    assert.equal(spanToRow(spanWith({ 'observatory.retries': 2 ** 31 - 1 })).retries, 2_147_483_647);
    assert.equal(spanToRow(spanWith({ 'observatory.retries': 2 ** 31 })).retries, null);
    const row = spanToRow(spanWith({ 'observatory.retries': -3 }));
    assert.equal(row.retries, null);
    assert.deepEqual(row.attributes, { 'observatory.retries': -3 });
  });

  test('a text too long for an index stays in attributes, and any other column takes it', () => {
    const long = 'x'.repeat(513);
    const row = spanToRow(spanWith({ 'observatory.model': long, 'observatory.risk_tier': long }));
    assert.equal(row.model, null);
    assert.equal(row.risk_tier, long);
    assert.deepEqual(row.attributes, { 'observatory.model': long });
  });

  test('the trace id of a shadow parent may be hex', () => {
    const row = spanToRow(spanWith({ 'observatory.shadow_parent_trace_id': TRACE_ID }));
    assert.equal(row.shadow_parent_trace_id, '4bf92f35-77b3-4da6-a3ce-929d0e0e4736');
    assert.deepEqual(row.attributes, {});
  });

  test('events and links keep time, name, ids, attributes and what was dropped', () => {
    const [span] = recordSpans((tracer) => {
      const started = tracer.startSpan('with links', {
        links: [{ context: remoteParent(), attributes: { reason: 'retry' } }],
      });
      started.addEvent('gen_ai.choice', { index: 0 }, [1_795_000_000, 1000]);
      started.end();
    });
    assert.ok(span);
    const row = spanToRow(
      altered(span, {
        droppedAttributesCount: 2,
        droppedEventsCount: 3,
        droppedLinksCount: 4,
        events: span.events.map((event) => ({ ...event, droppedAttributesCount: 5 })),
      }),
    );
    assert.deepEqual(row.events, [
      {
        time: '2026-11-18T11:06:40.000001Z',
        name: 'gen_ai.choice',
        attributes: { index: 0 },
        dropped_attributes_count: 5,
      },
    ]);
    assert.deepEqual(row.links, [
      {
        trace_id: TRACE_ID,
        span_id: 'b7ad6b7169203331',
        attributes: { reason: 'retry' },
        tracestate: 'vendor=1',
      },
    ]);
    assert.deepEqual(row.attributes, {
      'otel.dropped_attributes_count': 2,
      'otel.dropped_events_count': 3,
      'otel.dropped_links_count': 4,
    });
  });

  /** A span whose scope has more than the types of the SDK know. */
  const withScope = (scope: object, attributes = {}) =>
    altered(spanWith({}), { attributes, instrumentationScope: { name: 'lib', ...scope } });

  test('attributes of the scope stand under one name, apart from those of the span, with what was dropped', () => {
    const attributes = { team: 'payments', 'short.lived': true, nested: { list: [1, null] } };
    const row = spanToRow(withScope({ attributes, droppedAttributesCount: 2 }, { team: 'of the span' }));
    assert.equal(row.scope, 'lib');
    assert.deepEqual(row.attributes, {
      team: 'of the span',
      'otel.scope.dropped_attributes_count': 2,
      'otel.scope.attributes': attributes,
    });
    assert.deepEqual(spanToRow(withScope({ attributes: {}, droppedAttributesCount: 0 })).attributes, {});
  });

  test('a span that has the name itself keeps its value, and the scope loses none of its own', () => {
    const attributes = { team: 'payments' };
    const row = spanToRow(withScope({ attributes }, { 'otel.scope.attributes': 'mine' }));
    assert.deepEqual(row.attributes, {
      'otel.scope.attributes': 'mine',
      'otel.scope.attributes\ufffd2': attributes,
    });
  });

  test('attributes of the scope are cleaned and cut like others, and marked under that name', () => {
    const dirty = spanToRow(withScope({ attributes: { bad: '\0', ['k'.repeat(3000)]: 1 } }));
    assert.deepEqual(dirty.attributes, {
      'otel.scope.attributes': { bad: '\ufffd', ['k'.repeat(1024)]: 1 },
      [SANITIZED_ATTRIBUTE]: ['otel.scope.attributes'],
      [TRUNCATED_ATTRIBUTE]: ['otel.scope.attributes'],
    });
    const texts = Array.from({ length: 9 }, () => 'z'.repeat(500_000));
    const large = spanToRow(withScope({ attributes: { texts, after: 1 } }, { first: 1 }));
    assert.equal(large.attributes.first, 1);
    const kept = (large.attributes['otel.scope.attributes'] as { texts: string[] }).texts;
    assert.ok(kept.join('').length < 4_194_304 && kept.join('').length > 4_194_000);
    assert.deepEqual(Object.keys(large.attributes['otel.scope.attributes'] as object), ['texts']);
    assert.deepEqual(large.attributes[TRUNCATED_ATTRIBUTE], ['otel.scope.attributes']);
  });

  test('a span without a valid id is refused with both ids named', () => {
    const span = spanWith({});
    const bad = altered(span, { spanContext: () => ({ ...span.spanContext(), spanId: '0'.repeat(16) }) });
    assert.throws(
      () => spanToRow(bad),
      (error) =>
        ObservatoryError.isInstance(error) && error.code === 'INVALID_INPUT' && /0{16}/.test(error.message),
    );
  });

  test('a resource too long for its column stays whole', () => {
    const service = 's'.repeat(2000);
    const row = spanToRow(spanWith({}, { service }));
    assert.equal(row.service, null);
    assert.deepEqual(row.resource, { 'service.name': service });
  });
});

describe('time', () => {
  test('microseconds are exact over the whole range of nanoseconds', () => {
    for (const nanos of [0, 999, 1000, 100_000_000, 123_456_789, 999_999_999]) {
      const [span] = recordSpans((tracer) => {
        tracer.startSpan('t', { startTime: [1_795_000_000, nanos] }).end([1_795_000_001, 0]);
      });
      assert.ok(span);
      const digits = String(Math.floor(nanos / 1000)).padStart(6, '0');
      assert.equal(spanToRow(span).start_time, `2026-11-18T11:06:40.${digits}Z`);
    }
  });

  test('times before 1970 and with too many nanoseconds are understood', () => {
    const span = spanWith({});
    const early = spanToRow(altered(span, { startTime: [-1, 500_000_000], endTime: [0, 1_500_000_000] }));
    assert.equal(early.start_time, '1969-12-31T23:59:59.500000Z');
    assert.equal(early.end_time, '1970-01-01T00:00:01.500000Z');
  });

  test('a time that cannot be said becomes 1970 and is marked', () => {
    const row = spanToRow(altered(spanWith({}), { startTime: [Number.NaN, 0], endTime: [1e15, 0] }));
    assert.equal(row.start_time, '1970-01-01T00:00:00.000000Z');
    assert.equal(row.end_time, '1970-01-01T00:00:00.000000Z');
    assert.deepEqual(row.attributes[SANITIZED_ATTRIBUTE], ['start_time', 'end_time']);
  });
});

describe('values that JSON or Postgres cannot say', () => {
  test('NUL and lone surrogates become U+FFFD, and the row names where', () => {
    const [span] = recordSpans(
      (tracer) => {
        const started = tracer.startSpan('a\0b', {
          attributes: { 'observatory.risk_tier': 'x\0', note: 'y\ud800', fine: '😀 مرحبا', 'k\0': 1 },
        });
        started.addEvent('e\udc00');
        started.end();
      },
      { resource: { 'host.name': 'h\0' } },
    );
    assert.ok(span);
    const row = spanToRow(span);
    assert.equal(row.span_name, 'a\ufffdb');
    assert.equal(row.risk_tier, 'x\ufffd');
    assert.deepEqual(row.resource, { 'host.name': 'h\ufffd' });
    assert.equal((row.events[0] as { name: string }).name, 'e\ufffd');
    assert.deepEqual(row.attributes, {
      note: 'y\ufffd',
      fine: '😀 مرحبا',
      'k\ufffd': 1,
      [SANITIZED_ATTRIBUTE]: [
        'resource host.name',
        'observatory.risk_tier',
        'span_name',
        'events',
        'note',
        'k\ufffd',
      ],
    });
  });

  test('keys that clean to the same text stay apart', () => {
    const row = spanToRow(altered(spanWith({}), { attributes: { 'k\0': 1, 'k\ufffd': 2, 'k\ud800': 3 } }));
    assert.equal(Object.keys(row.attributes).length, 4);
    assert.deepEqual(Object.values(row.attributes).slice(0, 3), [1, 2, 3]);
    assert.equal(row.attributes['k\ufffd'], 2, 'a key that needs no cleaning keeps its name');
  });

  test('values of SDK 3 keep their form: nested, mixed, null, bytes in base64, NaN and infinities as text', () => {
    const row = spanToRow(
      altered(spanWith({}), {
        attributes: {
          nested: { a: [1, 'x', { b: null }], bytes: new Uint8Array([1, 2, 255]) },
          mixed: [1, 'a', true, null],
          none: null,
          nan: Number.NaN,
          infinities: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
          'observatory.cost_usd': Number.NaN,
          absent: undefined,
        },
      }),
    );
    assert.equal(row.cost_usd, null);
    assert.deepEqual(row.attributes, {
      nested: { a: [1, 'x', { b: null }], bytes: 'AQL/' },
      mixed: [1, 'a', true, null],
      none: null,
      nan: 'NaN',
      infinities: ['Infinity', '-Infinity'],
      'observatory.cost_usd': 'NaN',
    });
  });

  test('a key named __proto__ is a key', () => {
    const attributes = JSON.parse('{"__proto__": {"x": 1}}') as object;
    const row = spanToRow(altered(spanWith({}), { attributes }));
    assert.equal(JSON.stringify(row.attributes), '{"__proto__":{"x":1}}');
  });

  test('nesting without end is cut off and marked', () => {
    const endless: Record<string, unknown> = {};
    endless.self = endless;
    const wide: unknown[] = [];
    for (let i = 0; i < 50; i += 1) wide.push(wide);
    for (const value of [endless, wide]) {
      const row = spanToRow(altered(spanWith({}), { attributes: { value, after: 'kept?' } }));
      assert.ok((row.attributes[TRUNCATED_ATTRIBUTE] as string[]).includes('value'));
      assert.doesNotThrow(() => JSON.stringify(row));
    }
  });
});

describe('size limits', () => {
  test('a text too long for its column stays in attributes; one too long for those is cut and named', () => {
    const long = 'x'.repeat(65_537);
    const huge = 'y'.repeat(1_048_577);
    const row = spanToRow(spanWith({ 'observatory.session_id': long, huge }));
    assert.equal(row.session_id, null);
    assert.deepEqual(row.attributes, {
      'observatory.session_id': long,
      huge: huge.slice(1),
      [TRUNCATED_ATTRIBUTE]: ['huge'],
    });
  });

  test('name, status message and scope are cut, and no pair of surrogates is parted', () => {
    const name = `${'n'.repeat(65_535)}\u{1f600}`;
    const [span] = recordSpans(
      (tracer) => {
        tracer.startSpan(name).setStatus({ code: SpanStatusCode.ERROR, message: name }).end();
      },
      { scope: [name] },
    );
    assert.ok(span);
    const row = spanToRow(span);
    for (const text of [row.span_name, row.status_message, row.scope]) assert.equal(text, 'n'.repeat(65_535));
    assert.deepEqual(row.attributes[TRUNCATED_ATTRIBUTE], ['span_name', 'status_message', 'scope']);
    assert.equal(row.attributes[SANITIZED_ATTRIBUTE], undefined);
  });

  test('one column of JSON holds at most 4 Mi characters, 100,000 values and keys of 1,024', () => {
    const texts = Array.from({ length: 9 }, () => 'z'.repeat(500_000));
    const attributes = { texts, numbers: new Array(200_000).fill(7), after: 1 };
    const row = spanToRow(altered(spanWith({}), { attributes }));
    const kept = row.attributes.texts as string[];
    assert.equal(kept.length, 9);
    assert.equal(kept[8]?.length, 4_194_304 - 'texts'.length - 8 * 500_000);
    assert.equal(row.attributes.numbers, undefined);
    assert.deepEqual(row.attributes[TRUNCATED_ATTRIBUTE], ['texts', 'numbers']);
    const many = spanToRow(altered(spanWith({}), { attributes: { numbers: attributes.numbers } }));
    assert.equal((many.attributes.numbers as number[]).length, 99_999);
    const keys = spanToRow(altered(spanWith({}), { attributes: { ['k'.repeat(3000)]: 1 } }));
    assert.equal(keys.attributes['k'.repeat(1024)], 1);
  });

  test('marks are few and short however much is cut', () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`${i}${'\0'.repeat(500)}`, i]),
    );
    const row = spanToRow(altered(spanWith({}), { attributes }));
    const marks = row.attributes[SANITIZED_ATTRIBUTE] as string[];
    assert.equal(marks.length, 100);
    assert.ok(marks.every((mark) => mark.length <= 200));
    assert.equal(Object.keys(row.attributes).length, 5001);
  });

  test('a span that was stored before keeps the marks it has', () => {
    const first = spanToRow(altered(spanWith({}), { attributes: { bad: '\0' } }));
    const again = spanToRow(altered(spanWith({}), { attributes: { ...first.attributes, worse: '\0' } }));
    assert.deepEqual(again.attributes, {
      bad: '\ufffd',
      worse: '\ufffd',
      [SANITIZED_ATTRIBUTE]: ['bad', 'worse'],
    });
  });
});

function remoteParent(): SpanContext {
  return {
    traceId: TRACE_ID,
    spanId: 'b7ad6b7169203331',
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
    traceState: createTraceState('vendor=1'),
  };
}
