// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
/** The processor, which has a trace whole, and the store, which settles one that came apart, count the same calls. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { PostgresSpanExporter, refreshRuns } from '../../src/postgres/index.ts';
import { Enricher, innermostFirst } from '../../src/processor/index.ts';
import { model, OURS, type Part, plain, spansOf, usage } from '../support/call-parts.ts';
import { postgresDatabases } from '../support/databases.ts';
import { exportSpans } from '../support/export.ts';
import { startQuietPostgres } from '../support/postgres-server.ts';
import { random, shuffled } from '../support/random.ts';
import { rollUpAll } from '../support/roll-up.ts';
import { spanToRow } from '../support/span-row.ts';

/** `SETTLED_SEED=7` before the command gives other traces. */
const SEED = Number(process.env.SETTLED_SEED ?? 1);
const TRACES = 240;
/** Traces that are stored and settled together. */
const TOGETHER = 40;

type Pick = (below: number) => number;

/** How instrumentations say that a span is a model call, an agent or a tool; the last are own words of nobody. */
const CALLS: readonly (readonly [scope: string, attributes: Attributes])[] = [
  [OURS, { 'gen_ai.operation.name': 'chat' }],
  ['framework', { 'gen_ai.operation.name': 'chat' }],
  ['openinference', { 'openinference.span.kind': 'LLM' }],
  ['langfuse-sdk', { 'langfuse.observation.type': 'generation' }],
  ['mlflow', { 'mlflow.spanType': '"CHAT_MODEL"' }],
  ['braintrust', { 'braintrust.span_attributes': '{"name":"x","type":"llm"}' }],
  ['app', {}],
];
const OTHERS: readonly (readonly [scope: string, attributes: Attributes])[] = [
  ['framework', { 'gen_ai.operation.name': 'invoke_agent' }],
  ['traceloop', { 'traceloop.span.kind': 'workflow' }],
  ['app', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'ask' }],
  ['openinference', { 'openinference.span.kind': 'CHAIN' }],
];
const MODELS = ['gpt-4o-mini', 'gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini', 'claude-sonnet-4-5'];

/**
 * A trace of calls, each on one to three spans of several instrumentations, some of which do not give the response id or
 * have another count; below agents, tools, spans of others and sums of all kinds.
 */
class RandomTrace {
  readonly #pick: Pick;
  #calls = 0;
  #left: number;

  constructor(pick: Pick) {
    this.#pick = pick;
    this.#left = 1 + pick(5);
  }

  make(): Part {
    const parts: Part[] = [];
    while (this.#left > 0) parts.push(...this.#work(1)[0]);
    return plain(parts);
  }

  /** Some parts and the tokens of the calls in them. */
  #work(depth: number): readonly [parts: readonly Part[], tokens: number] {
    const parts: Part[] = [];
    let tokens = 0;
    const calls = 1 + this.#pick(2);
    for (let i = 0; i < calls && this.#left > 0; i += 1) {
      const [more, sum] = depth > 3 || this.#pick(2) === 0 ? this.#call(depth) : this.#work(depth + 1);
      parts.push(...more);
      tokens += sum;
    }
    return [[this.#around(parts, tokens)], tokens];
  }

  /** A span around work: of another kind, an agent or a tool with or without usage, or one that has only the usage. */
  #around(parts: readonly Part[], tokens: number): Part {
    const kind = this.#pick(4);
    if (kind === 0) return plain(parts);
    if (kind === 1) return { scope: 'app', attributes: { ...model, ...usage(tokens) }, parts };
    const [scope, attributes] = this.#one(kind === 2 ? OTHERS : CALLS.slice(1, -1));
    const isSum = tokens > 0 && (kind === 3 || this.#pick(2) === 0);
    return { scope, attributes: { ...attributes, ...(isSum ? { ...model, ...usage(tokens) } : {}) }, parts };
  }

  /** A call: the innermost span has what happens during it, such as a tool that asks a model. */
  #call(depth: number): readonly [parts: readonly Part[], tokens: number] {
    this.#left -= 1;
    this.#calls += 1;
    const tokens = 10 * (1 + this.#pick(1_000_000));
    const id = this.#pick(4) === 0 ? {} : { 'gen_ai.response.id': `response-${this.#calls}` };
    const asked = this.#one(MODELS);
    let [parts, below]: readonly [readonly Part[], number] = [[], 0];
    if (depth < 3 && this.#left > 0 && this.#pick(3) === 0) {
      const [inner, sum] = this.#work(depth + 1);
      const [scope, attributes] = this.#one(OTHERS);
      [parts, below] = [[{ scope, attributes, parts: inner }], sum];
    }
    // With calls below it, a span without a word is taken for their sum.
    const words = below === 0 ? CALLS : CALLS.slice(0, -1);
    const scopes = shuffled(words, this.#pick).slice(0, 1 + this.#pick(3));
    const isBeside = 'gen_ai.response.id' in id && this.#pick(6) === 0;
    for (const [at, [scope, attributes]] of scopes.entries()) {
      const told = { ...model, ...attributes, 'gen_ai.request.model': asked, ...usage(tokens) };
      const known = isBeside || this.#pick(2) === 0 ? id : {};
      const kind = scope === 'app' ? SpanKind.INTERNAL : SpanKind.CLIENT;
      const span: Part = {
        scope,
        kind,
        attributes: { ...told, ...known },
        parts: at === 0 || !isBeside ? parts : [],
      };
      parts = isBeside && at > 0 ? [...parts, span] : [this.#pick(3) === 0 ? plain([span]) : span];
    }
    return [parts, tokens + below];
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#pick(list.length)] as T;
  }
}

/** The parts whose call is counted, with its tokens, of all spans in one service. */
function countedWhole(spans: readonly ReadableSpan[]): readonly string[] {
  const enricher = new Enricher({ meterProvider: false });
  for (const span of spans) enricher.expectReceived(span);
  for (const span of innermostFirst(spans)) enricher.enrichReceived(span);
  return spans
    .map(spanToRow)
    .filter((row) => row.counted_on === null && row.prompt_tokens !== null)
    .map((row) => String(row.prompt_tokens))
    .sort();
}

/** A trace as one line. */
function show({ scope, attributes, parts = [] }: Part): string {
  const id = attributes['gen_ai.response.id'] ?? '';
  const asked = attributes['gen_ai.request.model'] ?? '';
  const tokens = attributes['gen_ai.usage.input_tokens'] ?? '';
  return `${scope}(${[asked, id, tokens].filter((one) => one !== '').join(' ')})[${parts.map(show).join(', ')}]`;
}

describe('the processor and the store', { skip: postgresDatabases().skip }, () => {
  const databases = postgresDatabases(startQuietPostgres);
  after(() => databases[Symbol.asyncDispose]());

  test('count the same calls of random traces, in whatever order the spans of these arrive', async () => {
    const db = await databases.createMigrated();
    const exporter = new PostgresSpanExporter({ connection: db as never });
    const pick = random(SEED);
    for (let done = 0; done < TRACES; done += TOGETHER) {
      const runs = Array.from({ length: TOGETHER }, () => new RandomTrace(pick).make());
      const expected = runs.map((run) => countedWhole(spansOf(run, false)));
      const apart = runs.map((run) => spansOf(run, false));
      const spans = shuffled(apart.flat(), pick);
      while (spans.length > 0) {
        const batch = spans.splice(0, 20 + pick(120));
        for (const span of batch) new Enricher({ meterProvider: false }).enrichReceived(span);
        await exportSpans(exporter, batch);
        await refreshRuns(db);
      }
      await rollUpAll(db);
      for (const [i, run] of runs.entries()) {
        const traceId = apart[i]?.[0]?.spanContext().traceId;
        const { rows } = await db.query(
          `SELECT prompt_tokens AS counted FROM mcp_traces
          WHERE trace_id = $1::text::uuid AND counted_on IS NULL AND prompt_tokens IS NOT NULL`,
          [traceId],
        );
        const found = rows.map(({ counted }) => String(counted)).sort();
        assert.deepEqual(found, expected[i], `seed ${SEED}: ${show(run)}`);
      }
    }
    await exporter.shutdown();
  });
});
