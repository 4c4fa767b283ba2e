import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type Attributes, ROOT_CONTEXT, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  type IdGenerator,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { attachInteraction, leaveLateWork, takesLateWork } from '../src/interaction/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { random as seeded } from './support/random.ts';

const ROUNDS = 150;
const MS_BETWEEN = 5;

type Random = (below: number) => number;

interface Planned {
  readonly scope: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly later: Attributes;
  readonly text?: { readonly prompt: string; readonly answer?: string };
  readonly args?: object;
  readonly late: boolean;
  readonly fails: boolean;
}

/** What happens in all pipelines alike. */
type Action =
  | {
      readonly do: 'start';
      readonly id: number;
      readonly parent: number | undefined;
      readonly at: number;
      readonly plan: Planned;
    }
  | { readonly do: 'end'; readonly id: number; readonly at: number };

const OURS_OF_MODELS = 'mcp-observatory/openai';
const OURS = 'mcp-observatory/mcp';
const SCOPES = [OURS_OF_MODELS, OURS, 'other-a', 'other-b'];

function plan(random: Random): Planned {
  const scope = SCOPES[random(SCOPES.length)] as string;
  const what = random(10);
  const usage: Attributes = { 'gen_ai.usage.input_tokens': 10 + random(3), 'gen_ai.usage.output_tokens': 2 };
  const named: Attributes = random(2) === 0 ? {} : { 'gen_ai.response.id': `r${random(4)}` };
  const model: Attributes = { 'gen_ai.request.model': ['gpt-4o', 'gpt-4o-mini'][random(2)] as string };
  const base = { scope, kind: 0, late: false, fails: random(6) === 0 };
  if (what < 5) {
    const text =
      random(3) === 0
        ? {}
        : {
            text: {
              prompt: `question ${random(5)}`,
              ...(random(4) === 0 ? {} : { answer: `answer ${random(5)}` }),
            },
          };
    return {
      ...base,
      ...text,
      // Our instrumentations of models have no spans inside each other's.
      scope: scope === OURS ? OURS_OF_MODELS : scope,
      kind: 2,
      attributes: {
        'gen_ai.operation.name': random(6) === 0 ? 'embeddings' : 'chat',
        'gen_ai.provider.name': 'openai',
        ...model,
      },
      later: { ...(random(3) === 0 ? {} : usage), ...named },
      late: random(2) === 0,
    };
  }
  if (what < 7) {
    const args = random(2) === 0 ? {} : { args: { city: `c${random(3)}` } };
    const isMcp = random(2) === 0;
    return {
      ...base,
      ...args,
      kind: random(3) === 0 ? 1 : 2,
      attributes: isMcp
        ? { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': `tool${random(3)}` }
        : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': `tool${random(3)}` },
      later: random(4) === 0 ? usage : {},
    };
  }
  if (what < 9) {
    return {
      ...base,
      attributes: { 'gen_ai.operation.name': 'invoke_agent' },
      later: random(2) === 0 ? { ...usage, ...model } : {},
    };
  }
  return { ...base, kind: 2, attributes: { 'http.request.method': 'POST' }, later: {} };
}

function actions(random: Random): Action[] {
  const all: Action[] = [];
  const open: number[] = [];
  const parents: (number | undefined)[] = [];
  const isBoundary: boolean[] = [];
  const isBelow = (id: number, above: number): boolean => {
    const parent = parents[id];
    return parent !== undefined && (parent === above || isBelow(parent, above));
  };
  const total = 4 + random(24);
  let at = 1_700_000_000_000;
  let next = 0;
  while (next < total || open.length > 0) {
    at += MS_BETWEEN + random(20);
    if (next < total && (open.length === 0 || random(5) < 3)) {
      const parent =
        open.length === 0 || random(10) === 0
          ? undefined
          : open[open.length - 1 - random(Math.min(2, open.length))];
      const planned = plan(random);
      all.push({ do: 'start', id: next, parent, at, plan: planned });
      parents.push(parent);
      isBoundary.push(planned.kind === 0);
      open.push(next);
      next += 1;
    } else {
      // A model call ends after those below it; an agent or a request may end before what it began.
      const may = open.filter((id) => isBoundary[id] || !open.some((other) => isBelow(other, id)));
      const id = may[random(4) === 0 ? random(may.length) : may.length - 1] as number;
      open.splice(open.indexOf(id), 1);
      all.push({ do: 'end', id, at });
    }
  }
  return all;
}

/** The same ids in each pipeline. */
function ids(): IdGenerator {
  let next = 1;
  const hex = (digits: number) => (next++).toString(16).padStart(digits, '0');
  return { generateTraceId: () => hex(32), generateSpanId: () => hex(16) };
}

interface Limits {
  readonly attributeCountLimit: number;
  readonly eventCountLimit: number;
  readonly attributeValueLengthLimit: number;
}

function pipeline(limits: Limits, content: boolean, after: readonly SpanProcessor[]) {
  const enricher = new ObservatorySpanProcessor({ captureContent: content });
  const provider = new BasicTracerProvider({
    spanProcessors: [enricher, ...after],
    spanLimits: limits,
    idGenerator: ids(),
  });
  const spans: Span[] = [];
  const perform = (action: Action) => {
    if (action.do === 'start') {
      const { plan: p, parent } = action;
      const within = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, spans[parent] as Span);
      const tracer = provider.getTracer(p.scope);
      spans[action.id] = tracer.startSpan(
        'span',
        { kind: p.kind, attributes: p.attributes, startTime: action.at },
        within,
      );
      plans[action.id] = p;
      return;
    }
    const span = spans[action.id] as Span;
    const p = plans[action.id] as Planned;
    const write = () => {
      span.setAttributes(p.later);
      if (p.fails) span.setStatus({ code: SpanStatusCode.ERROR, message: 'failed' });
      if (p.text !== undefined) attachInteraction(span, p.text);
      if (p.args !== undefined) attachInteraction(span, { toolArguments: p.args as never });
    };
    if (p.late && takesLateWork(span)) leaveLateWork(span, { characters: 10, write });
    else write();
    span.end(action.at);
  };
  const plans: Planned[] = [];
  return { enricher, provider, spans: spans as unknown as ReadableSpan[], perform };
}

const READS: ((span: ReadableSpan) => unknown)[] = [
  (span) => span.attributes,
  (span) => span.events,
  (span) => span.status,
  (span) => span.droppedAttributesCount,
  (span) => span.droppedEventsCount,
  (span) => inspect(span),
  (span) => ({ ...span }),
  (span) => Object.keys(span),
];

const COUNTED_ON = 'observatory.counted_on';

/** Of two spans that both are the call, either may be named: ours are known from their start on. */
function countedOn({ attributes }: ReadableSpan): unknown {
  const on = attributes[COUNTED_ON];
  return on === undefined || on === 'children' ? on : 'another span';
}

const facts = (span: ReadableSpan) => ({
  dropped: [span.droppedAttributesCount, span.droppedEventsCount],
  status: span.status,
  attributes: { ...span.attributes, [COUNTED_ON]: countedOn(span) },
  events: span.events,
  ended: span.ended,
});

test('random traces are enriched alike, whether spans are read as they end, at random moments, or by nobody', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const seed = 1_000_003 + round;
    const random: Random = seeded(seed);
    const all = actions(random);
    const limits: Limits = {
      attributeCountLimit: random(3) === 0 ? 4 + random(12) : 128,
      eventCountLimit: random(4) === 0 ? random(3) : 128,
      attributeValueLengthLimit: random(3) === 0 ? 12 : Number.POSITIVE_INFINITY,
    };
    const content = random(3) === 0;
    const reader: SpanProcessor = {
      onStart() {},
      onEnd: (span) => void span.attributes,
      async forceFlush() {},
      async shutdown() {},
    };
    const eager = pipeline(limits, content, [reader]);
    const lazy = pipeline(limits, content, []);
    const mixed = pipeline(limits, content, []);
    for (const action of all) {
      for (const one of [eager, lazy, mixed]) one.perform(action);
      if (random(3) === 0)
        READS[random(READS.length)]?.(mixed.spans[random(mixed.spans.length)] as ReadableSpan);
      if (random(8) === 0) await turn();
    }
    if (random(2) === 0) await lazy.provider.forceFlush();
    const order = lazy.spans.map((_, i) => i).sort(() => random(3) - 1);
    for (const i of order) {
      const expected = facts(eager.spans[i] as ReadableSpan);
      assert.deepEqual(facts(lazy.spans[i] as ReadableSpan), expected, `lazy, seed ${seed}, span ${i}`);
      assert.deepEqual(facts(mixed.spans[i] as ReadableSpan), expected, `mixed, seed ${seed}, span ${i}`);
    }
    assert.deepEqual(lazy.enricher.stats, eager.enricher.stats);
    assert.deepEqual(mixed.enricher.stats, eager.enricher.stats);
    assert.equal(eager.enricher.stats.faults, 0);
    for (const one of [eager, lazy, mixed]) await one.provider.shutdown();
  }
});

test('the last answer of an agent that runs as a tool is held against the tools it called', () => {
  const { spans, perform, provider } = pipeline(
    { attributeCountLimit: 128, eventCountLimit: 128, attributeValueLengthLimit: Number.POSITIVE_INFINITY },
    false,
    [],
  );
  const tool = (name: string): Planned => ({
    scope: 'agents',
    kind: 0,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
    later: {},
    late: false,
    fails: name === 'inner',
  });
  const model: Planned = {
    scope: 'agents',
    kind: 2,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' },
    later: {},
    text: { prompt: 'do it', answer: 'I have done it.' },
    late: false,
    fails: false,
  };
  const at = 1_700_000_000_000;
  perform({ do: 'start', id: 0, parent: undefined, at, plan: { ...tool('run'), attributes: {} } });
  perform({ do: 'start', id: 1, parent: 0, at, plan: tool('agent') });
  perform({ do: 'start', id: 2, parent: 1, at, plan: tool('inner') });
  perform({ do: 'end', id: 2, at: at + 10 });
  perform({ do: 'start', id: 3, parent: 1, at: at + 20, plan: model });
  perform({ do: 'end', id: 3, at: at + 30 });
  perform({ do: 'end', id: 1, at: at + 31 });
  assert.notEqual(spans[3]?.attributes['observatory.evidence_risk_score'], undefined);
  return provider.shutdown();
});
