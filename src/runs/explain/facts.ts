import { isGate, isPartOfCall, isSide, pairCalls } from '../calls.ts';
import type { SpanStatus } from '../status.ts';
import type { RunSpan, WaitingRow } from '../store/index.ts';

/** One tool call of a run, counted once however many spans it has. */
export interface RunCall {
  readonly span: RunSpan;
  readonly tool: string;
  /** That of its gate, if it stopped the call or its result, else of the innermost span. */
  readonly status: SpanStatus;
  /** Why its gate stopped it; null where none did. */
  readonly reason: string | null;
}

/** What the sentence about a run is made of. */
export interface RunFacts {
  readonly calls: readonly RunCall[];
  /** Failed calls that were not repeated with success, in order. */
  readonly failed: readonly RunCall[];
  readonly mended: readonly RunCall[];
  readonly denied: readonly RunCall[];
  /** Calls that were made, and whose results a gate kept back. */
  readonly withheld: readonly RunCall[];
  /** Calls that were held for an approval and not made. */
  readonly held: readonly RunCall[];
  /** Requests for approvals with their outcomes, where known: those of held calls and of calls that were made. */
  readonly approvals: readonly WaitingRow[];
  /** Model calls; the sums of costs are over them. */
  readonly modelCalls: readonly RunSpan[];
  /** Answers that the trace contradicts, and those that only lack support. */
  readonly contradicted: readonly RunSpan[];
  readonly unsupported: readonly RunSpan[];
  readonly costUsd: number;
  readonly unpriced: readonly RunSpan[];
  /** Failed spans that are no tool calls; of the root, whose failure is mostly that of a span below, what only it tells. */
  readonly otherErrors: readonly RunSpan[];
  readonly durationMs: number;
  /** Time that calls were held for an approval, in milliseconds. */
  readonly heldMs: number;
}

/**
 * Reads the facts from the spans of a run, which are in the order of their start.
 *
 * `mcp_runs` has some of them for lists of runs, added up in SQL as spans arrive, in any order and without their parents.
 * So it takes the larger of the counts of client, server and other spans for the number of calls, where this pairs the
 * spans of each call: of two calls, one recorded by its client and the other by its server alone, the row has one.
 * The span of a framework that passes a refusal on as an error is a failed call there, and `unsupported` there is of any
 * answer, contradicted or not.
 */
export function toFacts(spans: readonly RunSpan[], approvals: readonly WaitingRow[] = []): RunFacts {
  const calls = toolCalls(spans);
  const isMended = mending(calls);
  const failures = calls.filter(({ status }) => status === 'failed');
  const stopped = [...calls, ...otherStops(spans, calls)];
  const withStatus = (wanted: SpanStatus) => stopped.filter(({ status }) => status === wanted);
  const modelCalls = spans.filter(({ isModelCall }) => isModelCall);
  const isContradicted = (span: RunSpan) => span.claimMismatch || hasContradiction(span);
  const first = spans.reduce((least, { startMs }) => Math.min(least, startMs), Number.POSITIVE_INFINITY);
  const last = spans.reduce((most, { endMs }) => Math.max(most, endMs), Number.NEGATIVE_INFINITY);
  return {
    calls,
    failed: failures.filter((call) => !isMended(call)),
    mended: failures.filter(isMended),
    denied: withStatus('denied'),
    withheld: withStatus('withheld'),
    held: withStatus('held').filter(({ span }) => span.isBlocked),
    approvals,
    modelCalls,
    contradicted: spans.filter(isContradicted),
    unsupported: spans.filter((span) => !isContradicted(span) && isUnsupported(span)),
    costUsd: modelCalls.reduce((sum, span) => sum + (span.costUsd ?? 0), 0),
    unpriced: modelCalls.filter((span) => span.costUsd === null && span.costSource !== null),
    otherErrors: spans
      .filter(
        (span) =>
          span.status === 'failed' && !isPartOfCall(span) && !isGate(span) && !isRepeated(span, spans),
      )
      .sort((a, b) => Number(a.parentId === null) - Number(b.parentId === null)),
    durationMs: spans.length === 0 ? 0 : last - first,
    heldMs: listWaits(spans).reduce((sum, span) => sum + span.endMs - span.startMs, 0),
  };
}

/** Whether a root passes on what a span below it has told of. */
function isRepeated({ parentId, message }: RunSpan, spans: readonly RunSpan[]): boolean {
  if (parentId !== null) return false;
  const below = spans.filter((span) => span.parentId !== null && span.status !== 'ok');
  return below.length > 0 && (message === null || below.some((span) => isAlike(message, span.message)));
}

const isAlike = (a: string, b: string | null) => b === null || a.includes(b) || b.includes(a);

/** Waits for a person, each once: that of a gate that gave up waiting is within the gate's own span. */
function listWaits(spans: readonly RunSpan[]): readonly RunSpan[] {
  const waits = spans.filter(isWait);
  const outer = new Set(waits.filter(({ name }) => name === APPROVAL_WAIT).map(({ parentId }) => parentId));
  return waits.filter(({ id, name }) => name === APPROVAL_WAIT || !outer.has(id));
}

/** Whether the same call, with the same arguments, went well later: of calls whose arguments are not known nobody can say. */
function mending(calls: readonly RunCall[]): (call: RunCall) => boolean {
  const toKey = ({ span, tool }: RunCall) =>
    span.argsHash === null ? undefined : JSON.stringify([span.server, tool, span.argsHash]);
  const lastOk = new Map<string, number>();
  for (const call of calls) {
    const key = call.status === 'ok' ? toKey(call) : undefined;
    if (key !== undefined)
      lastOk.set(key, Math.max(lastOk.get(key) ?? Number.NEGATIVE_INFINITY, call.span.startMs));
  }
  return (call) => (lastOk.get(toKey(call) ?? '') ?? Number.NEGATIVE_INFINITY) >= call.span.endMs;
}

/** The tool calls of a run, in order. */
export function toolCalls(spans: readonly RunSpan[]): RunCall[] {
  return pairCalls(spans).map(({ span, gate }) => toCall(span, gate));
}

function toCall(span: RunSpan, { status, reason } = span): RunCall {
  return { span, tool: span.tool ?? span.name, status, reason };
}

/** Steps other than calls that a gate stopped, for instance a request that its input policy refused. */
function otherStops(spans: readonly RunSpan[], calls: readonly RunCall[]): RunCall[] {
  const told = new Set(calls.map(({ span }) => span));
  return spans
    .filter((span) => span.status === 'denied' && !told.has(span) && !isSide(span))
    .map((span) => toCall(span));
}

/** Name of the span in which a gate waits. */
const APPROVAL_WAIT = 'approval_wait';

/** Whether a span is a wait for a person. */
export function isWait({ name, decision }: RunSpan): boolean {
  return name === APPROVAL_WAIT || decision === 'require_approval';
}

function hasContradiction({ findings }: RunSpan): boolean {
  return findings !== null && /"kind":"(?!unsupported)/u.test(findings);
}

function isUnsupported({ findings }: RunSpan): boolean {
  return findings?.includes('"kind":"unsupported') ?? false;
}
