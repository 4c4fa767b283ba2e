import { createHash } from 'node:crypto';
import { type HrTime, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { semconv, sliced } from '../../base/index.ts';
import type { ReceivedLog, ReceivedSpan } from '../../otlp/index.ts';
import type { AgentCall, AgentDialect, AgentSpan } from './agent-call.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { AgentAttributes, AgentEvent } from './event.ts';
import { geminiCli } from './gemini-cli.ts';

const DIALECTS: readonly AgentDialect[] = [claudeCode, codex, geminiCli];

/** Every event that is read, by name. */
const READERS: ReadonlyMap<string, readonly [AgentDialect, (event: AgentEvent) => AgentCall | undefined]> =
  new Map(
    DIALECTS.flatMap((dialect) =>
      Object.entries(dialect.events).map(([name, read]) => [name, [dialect, read]] as const),
    ),
  );

/** Every span that is read, by name. */
const SPAN_READERS: ReadonlyMap<
  string,
  readonly [AgentDialect, (attributes: AgentAttributes) => AgentSpan | undefined]
> = new Map(
  DIALECTS.flatMap((dialect) =>
    Object.entries(dialect.spans ?? {}).map(([name, read]) => [name, [dialect, read]] as const),
  ),
);

const REPEATING_SCOPES: ReadonlySet<string | undefined> = new Set(
  DIALECTS.flatMap(({ repeatingScope }) => repeatingScope ?? []),
);

/** The spans made of the log records or spans of one request. */
export interface AgentSpans {
  readonly spans: readonly ReceivedSpan[];
  /** Records and spans that are not stored: no events of a known agent, or they add nothing to its runs. */
  readonly ignored: number;
}

/** Events read before other work may get its turn. */
const EVENTS_AT_ONCE = 64;

interface Found {
  readonly dialect: AgentDialect;
  readonly event: AgentEvent;
  readonly call: AgentCall;
}

/**
 * Reads the events that coding agents send as log records as spans of runs: prompts, model calls, tool calls. The ids
 * come from the ids in the events, so an event that is delivered again gives the same row. Never rejects.
 */
export async function readAgentEvents(logs: readonly ReceivedLog[]): Promise<AgentSpans> {
  const turn = sliced();
  const found: Found[] = [];
  for (const [i, log] of logs.entries()) {
    if (i % EVENTS_AT_ONCE === 0) await turn();
    const one = readEvent(log);
    if (one !== undefined) found.push(one);
  }
  const answers = new Map(
    found.filter(({ call }) => call.kind === 'answer').map((one) => [toCall(one), one.call] as const),
  );
  const answered = new Set<string>();
  const spans: ReceivedSpan[] = [];
  for (const [i, one] of found.entries()) {
    if (i % EVENTS_AT_ONCE === 0) await turn();
    if (one.call.kind === 'answer') continue;
    const answer =
      one.call.kind === 'model' && one.call.key !== undefined ? answers.get(toCall(one)) : undefined;
    if (answer !== undefined) answered.add(toCall(one));
    spans.push(toSpan(one, answer?.attributes));
  }
  // An answer whose call came in another request is a row of its own, without tokens.
  for (const one of found) {
    if (one.call.kind === 'answer' && !answered.has(toCall(one))) spans.push(toSpan(one, undefined));
  }
  return { spans, ignored: logs.length - found.length };
}

function readEvent(log: ReceivedLog): Found | undefined {
  const event = new AgentEvent(log);
  for (const name of readNames(event)) {
    const reader = READERS.get(name);
    if (reader === undefined) continue;
    const [dialect, read] = reader;
    const call = read(event);
    // Without any id of a session there is no run it could belong to.
    return call === undefined || call.run.join('') === '' ? undefined : { dialect, event, call };
  }
  return undefined;
}

/** The name is in the attribute `event.name`, the field or the body; Claude Code leaves its prefix out of the first. */
function readNames(event: AgentEvent): string[] {
  const { body, eventName } = event.log;
  const attribute = event.text('event.name');
  const names = [attribute, eventName, typeof body === 'string' ? body : undefined];
  if (event.log.resource.attributes[semconv.ATTR_SERVICE_NAME] === 'claude-code')
    names.push(`claude_code.${attribute}`);
  return names.filter((name) => name !== undefined);
}

function toCall({ dialect, call: { run, key } }: Found): string {
  return JSON.stringify([dialect.agent, ...run, key]);
}

/** Reads the spans of coding agents in their own words, and leaves out those that repeat events; others stay. */
export function readAgentSpans(received: readonly ReceivedSpan[]): AgentSpans {
  const spans = received
    .filter(({ instrumentationScope }) => !REPEATING_SCOPES.has(instrumentationScope?.name))
    .map((span) => {
      const reader = SPAN_READERS.get(span.name);
      return reader === undefined ? span : translate(span, ...reader);
    });
  return { spans, ignored: received.length - spans.length };
}

function translate(
  span: ReceivedSpan,
  { agent }: AgentDialect,
  read: (attributes: AgentAttributes) => AgentSpan | undefined,
): ReceivedSpan {
  const told = new AgentAttributes(span.attributes);
  const found = read(told);
  if (found === undefined) return span;
  const { name, attributes, failure } = found;
  return {
    ...span,
    name,
    status:
      failure === undefined || span.status.code === SpanStatusCode.ERROR ? span.status : toStatus(failure),
    attributes: known({
      ...span.attributes,
      ...attributes,
      ...commonAttributes(agent, told.text('session.id'), told),
      [semconv.ATTR_ERROR_TYPE]: span.attributes[semconv.ATTR_ERROR_TYPE] ?? failure?.type,
    }),
  };
}

/** What every row of an agent has. */
function commonAttributes(
  agent: string,
  session: string | undefined,
  told: AgentAttributes,
): Record<string, unknown> {
  return {
    [semconv.ATTR_GEN_AI_AGENT_NAME]: agent,
    [semconv.ATTR_GEN_AI_CONVERSATION_ID]: session,
    'session.id': session,
    'observatory.client_name': agent,
    'user.id': told.user,
  };
}

/** The attributes that have a value. */
function known(attributes: Record<string, unknown>): ReceivedSpan['attributes'] {
  for (const name of Object.keys(attributes)) if (attributes[name] === undefined) delete attributes[name];
  return attributes as ReceivedSpan['attributes'];
}

const SCOPE = { name: 'mcp-observatory/agent-events' };

function toSpan({ dialect, event, call }: Found, more: AgentCall['attributes'] = {}): ReceivedSpan {
  const { agent } = dialect;
  const traceId = toId(16, agent, ...call.run);
  const rootId = toId(8, agent, ...call.run, 'run');
  const isRoot = call.isRoot === true;
  const spanId = isRoot
    ? rootId
    : toId(8, agent, ...call.run, call.kind, call.key ?? event.fingerprint, call.failure?.type ?? '');
  const endTime = event.time;
  const startTime = before(endTime, event.durationMs);
  const context = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
  const session = call.run[0] === '' ? undefined : call.run[0];
  const attributes = known({
    ...(call.kind === 'prompt' ? { [semconv.ATTR_GEN_AI_OPERATION_NAME]: 'invoke_agent' } : {}),
    ...call.attributes,
    [semconv.ATTR_GEN_AI_OUTPUT_MESSAGES]:
      more[semconv.ATTR_GEN_AI_OUTPUT_MESSAGES] ?? call.attributes[semconv.ATTR_GEN_AI_OUTPUT_MESSAGES],
    ...commonAttributes(agent, session, event),
    [semconv.ATTR_ERROR_TYPE]: call.failure?.type,
  });
  return {
    traceId,
    spanId,
    name: call.name,
    kind: call.kind === 'model' || call.kind === 'answer' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    startTime,
    endTime,
    duration: [Math.floor(event.durationMs / 1000), Math.floor((event.durationMs % 1000) * 1e6)],
    ended: true,
    status: toStatus(call.failure),
    attributes,
    events: [],
    links: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    resource: event.log.resource,
    instrumentationScope: SCOPE,
    spanContext: () => context,
    ...(isRoot ? {} : { parentSpanContext: { ...context, spanId: rootId } }),
  };
}

function toStatus(failure: AgentCall['failure']): ReceivedSpan['status'] {
  if (failure === undefined) return { code: SpanStatusCode.UNSET };
  const { message } = failure;
  return { code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) };
}

/** Hex digits of this many bytes, from the digest of the parts. */
function toId(bytes: number, ...parts: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify(parts))
    .digest('hex')
    .slice(0, 2 * bytes);
}

function before([seconds, nanos]: HrTime, ms: number): HrTime {
  const whole = Math.floor(ms / 1000);
  const rest = nanos - Math.floor((ms - whole * 1000) * 1e6);
  const start: HrTime = rest < 0 ? [seconds - whole - 1, rest + 1e9] : [seconds - whole, rest];
  return start[0] < 0 ? [0, 0] : start;
}
