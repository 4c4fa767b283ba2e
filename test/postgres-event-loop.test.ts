import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { PostgresSpanExporter, type Queryable } from '../src/postgres/index.ts';
import { exportSpans } from './support/export.ts';
import { altered, spanWith } from './support/spans.ts';

/** Spans of one export that may be encoded in one turn of the event loop. */
const SPANS_PER_TURN = 64;

/** A database that takes everything at once: no turn of the loop is its doing. */
const insertOnly: Queryable = { query: () => Promise.resolve({ rows: [] }) };

/** The same with the face of a pool of `pg`, so that COPY is chosen. */
const pool = {
  ...insertOnly,
  idleCount: 0,
  totalCount: 0,
  connect: (callback: (error: undefined, client: object) => void) => {
    callback(undefined, {
      on: () => {},
      removeListener: () => {},
      release: () => {},
      connection: { endCopyFrom: () => {} },
      query: (_: unknown, answered: (error: null) => void) => answered(null),
    });
  },
} as unknown as Queryable;

/** How many spans were read in each turn of the event loop, from the start of `work` to its end. */
async function spansByTurn(work: (read: () => void) => Promise<void>): Promise<number[]> {
  const turns = [0];
  let isOver = false;
  const count = () => {
    turns.push(0);
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work(() => {
    turns[turns.length - 1] = (turns.at(-1) ?? 0) + 1;
  });
  isOver = true;
  return turns;
}

function watched(span: ReadableSpan, read: () => void): ReadableSpan {
  const context = span.spanContext();
  return altered(span, {
    spanContext: () => {
      read();
      return context;
    },
  });
}

for (const [name, connection] of [
  ['INSERT', insertOnly],
  ['binary COPY', pool],
] as const) {
  describe(`the event loop while spans are encoded for ${name}`, () => {
    test('turns after every 64 spans, however many one export or statement has', async () => {
      const span = spanWith({ 'gen_ai.request.model': 'gpt-4o', note: 'x'.repeat(100) });
      const turns = await spansByTurn(async (read) => {
        const exporter = new PostgresSpanExporter({ connection });
        const spans = new Array<ReadableSpan>(5000).fill(watched(span, read));
        assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
      });
      assert.equal(
        turns.reduce((sum, spans) => sum + spans),
        5000,
      );
      assert.ok(Math.max(...turns) <= SPANS_PER_TURN, `${Math.max(...turns)} spans in one turn`);
    });

    test('turns after each span that is large', async () => {
      const span = spanWith({ note: 'x'.repeat(200_000) });
      const turns = await spansByTurn(async (read) => {
        const exporter = new PostgresSpanExporter({ connection });
        const spans = new Array<ReadableSpan>(20).fill(watched(span, read));
        assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
      });
      assert.equal(Math.max(...turns), 1);
    });
  });
}
