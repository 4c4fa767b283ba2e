/** Seeded random runs of agents and model calls, and their spans in random orders. */
import { type Context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import {
  agent,
  chat,
  model,
  OURS,
  openInference,
  own,
  type Part,
  plain,
  recorded,
  tool,
  usage,
} from './call-parts.ts';
import { pick, shuffled } from './random.ts';

type Random = () => number;

/** A run, with the tokens of its calls and their number. */
export interface RandomRun {
  readonly part: Part;
  readonly tokens: number;
  readonly calls: number;
}

const MAX_DEPTH = 4;

/** An agent with what is below it: it tells the sum of that, a part of it, or nothing. */
export function randomRun(random: Random, depth = 0): RandomRun {
  const runs = Array.from({ length: 1 + Math.floor(3 * random()) }, () =>
    depth < MAX_DEPTH && random() < 0.4 ? randomRun(random, depth + 1) : randomCall(random),
  );
  const tokens = runs.reduce((sum, run) => sum + run.tokens, 0);
  const calls = runs.reduce((sum, run) => sum + run.calls, 0);
  const parts = runs.map(({ part }) => part);
  const said = random() < 0.3 ? (runs[0] as RandomRun).tokens : tokens;
  const { 'observatory.cost_usd': _ownCost, ...attributes } = agent(said, parts).attributes;
  const run = { ...agent(said, parts), attributes };
  const kinds = [
    plain(parts),
    run,
    tool([run]),
    openInference('CHAIN', said, parts),
    own({ ...model, ...usage(said) }, parts),
    own({ 'gen_ai.operation.name': 'orchestrate', ...model, ...usage(said) }, parts),
    // One that says that it is a call is an aggregate by its sum alone.
    ...(calls > 1 ? [chat('framework', tokens, `run ${random()}`, parts)] : []),
  ];
  return { part: pick(kinds, random), tokens, calls };
}

/** A call by up to three instrumentations around each other. */
function randomCall(random: Random): RandomRun {
  const tokens = 10 * (1 + Math.floor(1e4 * random()));
  const id = random() < 0.5 ? `call ${random()}` : undefined;
  let part = chat(pick([OURS, 'inner'], random), tokens, id);
  for (const scope of ['middle', 'outer']) {
    if (random() < 0.6) continue;
    const inner = random() < 0.5 ? [part] : [plain([part])];
    part = random() < 0.5 ? openInference('LLM', tokens, inner) : chat(scope, tokens, id, inner);
  }
  return { part, tokens, calls: 1 };
}

/** The spans of a run, each around those in it by some milliseconds; they end in a random order. */
export function spansInAnyOrder(
  random: Random,
  run: Part,
  processors: readonly SpanProcessor[] = [],
): ReadableSpan[] {
  return recorded(processors, (tracers) => {
    const begun: { span: Span; end: number }[] = [];
    let now = Date.now() - 3_600_000;
    const begin = (part: Part, around: Context): void => {
      const { scope, attributes, kind, parts = [] } = part;
      now += 5;
      const described = { attributes, startTime: now, ...(kind !== undefined && { kind }) };
      const span = tracers(scope).startSpan(`${scope} span`, described, around);
      if (parts.length === 0) now += 500 + 1000 * random();
      for (const inner of parts) begin(inner, trace.setSpan(around, span));
      now += 5;
      begun.push({ span, end: now });
    };
    begin(run, ROOT_CONTEXT);
    for (const { span, end } of inAnyOrder(random, begun)) span.end(end);
  });
}

export function inAnyOrder<T>(random: Random, values: readonly T[]): T[] {
  return shuffled(values, (count) => Math.floor(random() * count));
}
