import { formatPlural } from '../../base/index.ts';
import { REASONS, type ReasonCode } from '../../policy/index.ts';
import type { RunStatus } from '../status.ts';
import type { RunSpan, WaitingRow } from '../store/index.ts';
import { formatCounted, formatDuration, formatUnpriced, formatUsd } from '../units.ts';
import { findDefinitions } from './definitions.ts';
import { type RunCall, type RunFacts, toFacts } from './facts.ts';

/** A part of the sentence; a part with a span links to it. */
export interface SentencePart {
  readonly text: string;
  /** How it is emphasized; a word says the same, so that nothing depends on the color. */
  readonly tone?: 'bad' | 'warn' | undefined;
  /** Id of the span that proves it. */
  readonly span?: string | undefined;
  /** Id of the request that waits for a person: a link leads there first. */
  readonly review?: string | undefined;
}

type Clause = readonly SentencePart[];

/**
 * Explains a run in one sentence computed from its spans: what was called, what failed, whether the answer is true to
 * it, what it cost, how long it took. The page, the command line and the MCP tools use this one.
 *
 * @param status of the run, for what its spans alone do not show.
 */
export function explainRun(
  spans: readonly RunSpan[],
  approvals: readonly WaitingRow[] = [],
  status?: RunStatus,
): readonly SentencePart[] {
  if (spans.length === 0) return [{ text: 'No spans.' }];
  const facts = toFacts(spans, approvals);
  const clauses = [
    waits(facts),
    calls(facts),
    errors(facts),
    status === undefined ? [] : (STATES[status] ?? []),
    answer(facts),
    cost(facts, spans),
    duration(facts),
  ];
  const parts: SentencePart[] = [];
  for (const clause of clauses) {
    if (clause.length === 0) continue;
    if (parts.length > 0) parts.push({ text: '; ' });
    parts.push(...clause);
  }
  return [...parts, { text: '.' }];
}

/** How a run stands, where it is not how one of its spans ended. */
const STATES: Readonly<Partial<Record<RunStatus, Clause>>> = {
  recovered: [{ text: 'the run recovered' }],
  running: [{ text: 'it still runs' }],
  incomplete: [{ text: 'incomplete, since its root span never came', tone: 'warn' }],
};

/** The sentence as plain text. */
export function sentenceText(parts: readonly SentencePart[]): string {
  return parts.map(({ text }) => text).join('');
}

/** What waits, or the outcome of a call that was held and not made. */
function waits({ held, approvals }: RunFacts): Clause {
  const open = approvals.filter(isOpen);
  const [request] = open;
  const ofRequest = held.find(({ span }) => isRequest(request, span));
  if (request !== undefined) {
    const span = ofRequest?.span.id;
    return [
      { text: clipped(request.tool ?? 'a call'), span },
      { text: ' waits for you: ' },
      { text: 'decide', tone: 'warn', review: request.id, span },
      ...(open.length > 1 ? [{ text: ` (and ${open.length - 1} more)` }] : []),
    ];
  }
  const [first] = held;
  if (first === undefined) return [];
  const asked = approvals.find((one) => isRequest(one, first.span));
  const became = asked === undefined ? 'waits for an approval' : `was held: ${formatDecision(asked)}`;
  return [
    { text: first.tool, span: first.span.id },
    { text: ' ' },
    { text: became, tone: 'warn', span: first.span.id },
  ];
}

const isOpen = ({ status }: Pick<WaitingRow, 'status'>) => status === 'pending' || status === 'claimed';

function isRequest(request: WaitingRow | undefined, { id, reviewId }: RunSpan): boolean {
  return request !== undefined && (request.id === reviewId || request.span === id);
}

const SCOPES = {
  once: 'once',
  session: 'for the session',
  definition: 'until the definition changes',
} as const;

/** What a person decided, in words: `approved once by Ada`. */
export function formatDecision({ status, scope, decidedBy, note }: WaitingRow): string {
  if (status === 'expired') return 'nobody decided in time';
  if (isOpen({ status })) return 'not decided yet';
  const by = decidedBy === null ? '' : ` by ${formatPerson(decidedBy)}`;
  const why = note === null || note.trim() === '' ? '' : ` (${clipped(note)})`;
  return `${status}${scope === null ? '' : ` ${SCOPES[scope]}`}${by}${why}`;
}

/** Who decided: a decision on the page is stored with where it was made. */
export function formatPerson(decidedBy: string): string {
  const name = decidedBy.replace(/^page:/u, '');
  return clipped(name === 'page' ? 'somebody on the page' : name);
}

/** A reason of the gate in words, for a sentence about the call: `no rule allows it`. */
export function findGateReason(reason: string | null): string | null {
  const known = reason !== null && Object.hasOwn(REASONS, reason) ? REASONS[reason as ReasonCode] : undefined;
  if (known === undefined) return reason;
  const text = known.meaning.replace(/this (?:exact )?call/u, 'it');
  return `${text[0]?.toLowerCase()}${text.slice(1)}`;
}

function calls({ calls: all, failed, mended, denied, withheld, held, approvals }: RunFacts): Clause {
  if (all.length + denied.length + withheld.length === 0) return [];
  const parts: SentencePart[] = [{ text: formatPlural(all.length, 'tool call') }];
  if (failed.length > 0) {
    parts.push({ text: ', ' }, { text: `${failed.length} failed`, tone: 'bad', span: failed[0]?.span.id });
    parts.push({ text: ` (${shown(failed[0] as RunCall, failed[0]?.span.message)}${more(failed)})` });
  }
  if (mended.length > 0) {
    parts.push(
      { text: ', ' },
      {
        text: `${mended.length} failed and ${mended.length === 1 ? 'was' : 'were'} retried`,
        span: mended[0]?.span.id,
      },
    );
  }
  for (const [stopped, word] of [
    [denied, 'denied'],
    [withheld, 'withheld'],
  ] as const) {
    const [first] = stopped;
    if (first === undefined) continue;
    parts.push({ text: ', ' }, { text: `${stopped.length} ${word}`, tone: 'bad', span: first.span.id });
    const rejected = approvals.find((one) => one.status === 'rejected' && isRequest(one, first.span));
    const why = rejected === undefined ? findGateReason(first.reason) : formatDecision(rejected);
    parts.push({ text: ` (${shown(first, why)}${more(stopped)})` });
  }
  const troubles = [failed, mended, denied, withheld, held];
  if (all.length > 0 && troubles.every((calls) => calls.length === 0)) parts.push({ text: ', none failed' });
  return parts;
}

function errors({ otherErrors }: RunFacts): Clause {
  const first = otherErrors[0];
  if (first === undefined) return [];
  const message = first.message === null ? '' : `: ${asPart(first.message)}`;
  const rest = otherErrors.length > 1 ? `, as did ${otherErrors.length - 1} more` : '';
  return [
    { text: `${clipped(first.name)} failed`, tone: 'bad', span: first.id },
    { text: `${rest}${message}` },
  ];
}

function answer({ contradicted, unsupported }: RunFacts): Clause {
  const against = contradicted.at(-1);
  if (against !== undefined) {
    // What it is graded by may not know the call that failed.
    if (against.risk === 'low' || against.risk === 'none')
      return [{ text: 'the answer says what the trace contradicts', tone: 'bad', span: against.id }];
    return [
      { text: 'the answer says what the trace contradicts: ', span: against.id },
      { text: `risk ${against.risk ?? 'high'}`, tone: 'bad', span: against.id },
    ];
  }
  const without = unsupported.at(-1);
  if (without === undefined) return [];
  return [
    { text: 'the answer claims what no source supports: ', span: without.id },
    { text: `risk ${without.risk ?? 'medium'}`, tone: 'warn', span: without.id },
  ];
}

function cost({ modelCalls, unpriced, costUsd }: RunFacts, spans: readonly RunSpan[]): Clause {
  // Calls that nobody counted, as one that failed, have no price, which is not the price 0.
  if (modelCalls.every((call) => call.costUsd === null && call.costSource === null)) return [];
  const first = unpriced[0];
  if (first === undefined) return [{ text: `${formatUsd(costUsd)}${definitions(spans)}` }];
  if (unpriced.length === modelCalls.length) {
    const why = formatUnpriced(first.costSource ?? '', clipped(first.model ?? 'the model'));
    return [{ text: `unpriced: ${why}`, span: first.id }];
  }
  const count = formatCounted(unpriced.length, 'model call');
  return [{ text: `${formatUsd(costUsd)} and ${count} unpriced`, span: first.id }];
}

/** Of the cost, what tool definitions took: those of the server that took the most, where the spans tell. */
function definitions(spans: readonly RunSpan[]): string {
  const found = findDefinitions(spans);
  if (found === undefined || found.costUsd <= 0) return '';
  const [first] = found.servers;
  if (first === undefined) return `, of which ${formatUsd(found.costUsd)} are tool definitions`;
  const whose = first.server === '' ? 'tool definitions' : `definitions of server ${clipped(first.server)}`;
  const usd = formatUsd(found.costUsd * first.share);
  return `, of which ${usd} are ${whose} (${first.offered} offered, ${first.used} used)`;
}

function duration({ durationMs, heldMs, held, approvals }: RunFacts): Clause {
  if (held.length > 0 || approvals.some(isOpen)) return [];
  const all = { text: `${formatDuration(durationMs)} in all` };
  const used = approvals.find(({ status }) => status === 'approved');
  // A wait that nobody would notice is not worth a clause.
  if (heldMs < 1000) return used === undefined ? [all] : [{ text: `${formatDecision(used)}; ` }, all];
  const by = used === undefined ? ' for an approval' : `, ${formatDecision(used)}`;
  return [{ text: `${formatDuration(heldMs)} waited${by}; ` }, all];
}

function shown({ tool }: RunCall, why: string | null | undefined): string {
  return why == null || why === '' ? tool : `${tool}: ${asPart(why)}`;
}

/** A message within a sentence. */
const asPart = (message: string) => clipped(message).replace(/[.]$/u, '');

function more(list: readonly unknown[]): string {
  return list.length > 1 ? `, and ${list.length - 1} more` : '';
}

const MAX_CHARS = 80;

function clipped(text: string): string {
  const line = text
    .slice(0, 4 * MAX_CHARS)
    .replace(/\s+/gu, ' ')
    .trim();
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS - 1).trimEnd()}…` : line;
}
