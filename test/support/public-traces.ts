/**
 * Traces and span fixtures in public repositories, as OTLP requests. They are not part of this repository:
 * `OBSERVATORY_PUBLIC_TRACES` names a folder with checkouts of langfuse/langfuse, Arize-ai/openinference and
 * Arize-ai/phoenix, in folders named `langfuse`, `openinference` and `phoenix`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { anyValue } from './otlp-encode.ts';

const FOLDER = process.env.OBSERVATORY_PUBLIC_TRACES;

/** Why the traces cannot be read, for `skip`; `false` when they can. */
export function noPublicTraces(): string | false {
  if (FOLDER !== undefined && existsSync(FOLDER)) return false;
  return 'OBSERVATORY_PUBLIC_TRACES names no folder of checkouts';
}

export interface PublicSpan {
  readonly id: string;
  readonly parent: string | undefined;
  /** Its trace, where the spans of a set are of several. */
  readonly trace?: string | undefined;
  readonly name: string;
  readonly scope: string;
  readonly start: string;
  readonly end: string;
  readonly attributes: Json;
  /** Tokens of the span, as the repository gives them. */
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
}

export interface PublicTrace {
  readonly name: string;
  readonly spans: readonly PublicSpan[];
}

type Json = Record<string, unknown>;

/** The traces of all repositories of the folder that hold a count. */
export function readPublicTraces(): readonly PublicTrace[] {
  const all = [...readLangfuse(), ...readOpenInference(), ...readPhoenix()];
  return all.filter(({ spans }) => spans.some(({ usage }) => usage !== undefined));
}

/** Sums of the spans with usage that have none with usage below them. */
export function sumLeaves({ spans }: PublicTrace): { input: number; output: number; calls: number } {
  const parents = new Map(spans.map(({ id, parent }) => [id, parent]));
  const above = new Set<string>();
  for (const { usage, parent } of spans) {
    if (usage === undefined) continue;
    for (let at = parent; at !== undefined && !above.has(at); at = parents.get(at)) above.add(at);
  }
  // The spans of a fixture may lack their parents: AI SDK says by name which of two is around the other.
  const operations = spans.map(({ attributes }) => String(attributes['ai.operationId'] ?? ''));
  const isInner = (operation: string) => operation.includes('.do');
  const isParted = operations.some(isInner);
  const sums = { input: 0, output: 0, calls: 0 };
  for (const [i, { id, usage }] of spans.entries()) {
    const isAround = isParted && operations[i] !== '' && !isInner(operations[i] ?? '');
    if (usage === undefined || above.has(id) || isAround) continue;
    sums.input += usage.input;
    sums.output += usage.output;
    sums.calls += 1;
  }
  return sums;
}

/** A request of some spans; `salt` makes other ids of them. */
export function publicRequest(
  trace: PublicTrace,
  salt: string,
  service: string,
  spans = trace.spans,
): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: toKeyValues({ 'service.name': service }) },
        scopeSpans: spans.map((span) => ({
          scope: { name: span.scope },
          spans: [
            {
              traceId: hash(`${salt} ${trace.name} ${span.trace}`, 32),
              spanId: hash(`${salt} ${span.id}`, 16),
              ...(span.parent === undefined ? {} : { parentSpanId: hash(`${salt} ${span.parent}`, 16) }),
              name: span.name,
              kind: 1,
              startTimeUnixNano: toNanos(span.start),
              endTimeUnixNano: toNanos(span.end),
              attributes: toKeyValues(span.attributes),
              status: {},
            },
          ],
        })),
      },
    ],
  };
}

const hash = (text: string, digits: number) =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);

const toKeyValues = (record: Json) =>
  Object.entries(record).map(([key, value]) => ({ key, value: anyValue(value) }));

const toNanos = (time: string) => String(BigInt(Date.parse(time)) * 1_000_000n);

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as unknown;

/** The JSON files below a folder of a checkout; none where it is absent. */
function listJson(...path: readonly string[]): readonly string[] {
  const folder = join(FOLDER ?? '', ...path);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name));
}

/** An object, also one that is written as text. */
function toObject(value: unknown): Json {
  if (typeof value !== 'string') return (value ?? {}) as Json;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return {};
  }
}

/** Langfuse keeps what a span said in `metadata`, and has taken the counts off some. */
function* readLangfuse(): Generator<PublicTrace> {
  const folders = [
    'worker/src/__tests__/chatml/framework-traces',
    'packages/shared/scripts/seeder/utils/framework-traces',
  ];
  for (const path of folders.flatMap((folder) => listJson('langfuse', folder))) {
    const { observations } = readJson(path) as { observations?: readonly Json[] };
    if (observations === undefined) continue;
    yield { name: path.slice(FOLDER?.length), spans: observations.map(toSpanOfLangfuse) };
  }
}

function toSpanOfLangfuse(observation: Json): PublicSpan {
  const metadata = toObject(observation.metadata);
  const scope = String(toObject(metadata.scope).name ?? 'langfuse-sdk');
  const attributes = { ...toObject(metadata.attributes) } as Json;
  const details = (observation.usageDetails ?? {}) as Record<string, number>;
  const { input = 0, output = 0, total = 0 } = details;
  // Of an output without the reasoning, the total says how much it was.
  const usage = input + output > 0 ? { input, output: Math.max(output, total - input) } : undefined;
  if (scope === 'langfuse-sdk') {
    attributes['langfuse.observation.type'] = String(observation.type).toLowerCase();
    if (typeof observation.model === 'string')
      attributes['langfuse.observation.model.name'] = observation.model;
    if (usage !== undefined) attributes['langfuse.observation.usage_details'] = JSON.stringify(details);
  } else if (usage !== undefined && !Object.keys(attributes).some((key) => COUNT.test(key))) {
    const [ins, outs] = scope.startsWith('openinference')
      ? ['llm.token_count.prompt', 'llm.token_count.completion']
      : ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'];
    Object.assign(attributes, { [ins]: input, [outs]: output });
  }
  return {
    id: String(observation.id),
    parent: (observation.parentObservationId as string | null) ?? undefined,
    name: String(observation.name),
    scope,
    start: String(observation.startTime),
    end: String(observation.endTime ?? observation.startTime),
    attributes,
    usage,
  };
}

const COUNT = /^(?:llm\.token_count\.prompt|gen_ai\.usage\.input_tokens|ai\.usage\.promptTokens)$/;

/** Spans of the AI SDK, without their parents, and attributes of single spans. */
function* readOpenInference(): Generator<PublicTrace> {
  const folder = ['openinference', 'js/packages'];
  for (const path of listJson(...folder, 'openinference-vercel/test/__fixtures__')) {
    const content = readJson(path);
    if (!Array.isArray(content)) continue;
    const spans = (content as Json[]).map(({ spanContext, attributes, startTime, endTime, name }) =>
      toSpan({
        id: (spanContext as Json).spanId,
        trace: (spanContext as Json).traceId,
        name,
        scope: 'ai',
        attributes,
        start: startTime,
        end: endTime,
      }),
    );
    yield { name: path.slice(FOLDER?.length), spans };
  }
  for (const path of listJson(...folder, 'openinference-genai/test/__fixtures__')) {
    const attributes = readJson(path);
    yield {
      name: path.slice(FOLDER?.length),
      spans: [toSpan({ id: path, name: basename(path), scope: 'fixture', attributes })],
    };
  }
}

/** Spans of Phoenix's own agent, as its client gives them: one trace a list. */
function* readPhoenix(): Generator<PublicTrace> {
  for (const path of listJson('phoenix', 'tests/unit/pxi/evals/online_evals/fixtures')) {
    const content = readJson(path) as readonly Json[] | Record<string, readonly Json[]>;
    const lists = Array.isArray(content) ? { trace: content as readonly Json[] } : content;
    for (const [key, spans] of Object.entries(lists)) {
      yield {
        name: `${path.slice(FOLDER?.length)} ${key}`,
        spans: (spans as readonly Json[]).map((span) =>
          toSpan({
            id: (span.context as Json).span_id,
            parent: span.parent_id,
            name: span.name,
            scope: 'phoenix',
            attributes: { 'openinference.span.kind': span.span_kind, ...(span.attributes as Json) },
            start: span.start_time,
            end: span.end_time,
          }),
        ),
      };
    }
  }
}

const TIME = '2026-01-01T00:00:00Z';

function toSpan({ id, parent, trace, name, scope, attributes, start = TIME, end = TIME }: Json): PublicSpan {
  const given = attributes as Json;
  const count = (...names: readonly string[]) => names.map((key) => given[key]).find((n) => n !== undefined);
  const input = count(
    'gen_ai.usage.input_tokens',
    'llm.token_count.prompt',
    'ai.usage.promptTokens',
    'ai.usage.inputTokens',
    'ai.usage.tokens',
  );
  const output = count(
    'gen_ai.usage.output_tokens',
    'llm.token_count.completion',
    'ai.usage.completionTokens',
    'ai.usage.outputTokens',
  );
  return {
    id: String(id),
    parent: typeof parent === 'string' ? parent : undefined,
    trace: trace as string | undefined,
    name: String(name),
    scope: String(scope),
    start: toTime(start),
    end: toTime(end),
    attributes: given,
    usage: input === undefined ? undefined : { input: Number(input), output: Number(output ?? 0) },
  };
}

/** A time as a text, or as seconds and nanoseconds. */
function toTime(time: unknown): string {
  if (!Array.isArray(time)) return String(time);
  return new Date(Number(time[0]) * 1e3 + Number(time[1]) / 1e6).toISOString();
}
