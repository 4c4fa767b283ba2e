import type { RunSpan } from '../store/index.ts';
import { formatDuration, formatUsd } from '../units.ts';
import { definitionsOf } from './definitions.ts';
import { factsOf, type RunCall, type RunFacts } from './facts.ts';

/** A part of the sentence; a part with a span links to it. */
export interface SentencePart {
  readonly text: string;
  /** How it is emphasized; a word says the same, so that nothing depends on the color. */
  readonly tone?: 'bad' | 'warn' | undefined;
  /** Id of the span that proves it. */
  readonly span?: string | undefined;
}

type Clause = readonly SentencePart[];

/**
 * Explains a run in one sentence computed from its spans: what was called, what failed, whether the answer is true to
 * it, what it cost, how long it took. The page, the command line and the MCP tools use this one.
 */
export function explainRun(spans: readonly RunSpan[]): readonly SentencePart[] {
  if (spans.length === 0) return [{ text: 'No spans.' }];
  const facts = factsOf(spans);
  const clauses = [
    waits(facts),
    calls(facts),
    errors(facts),
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

/** The sentence as plain text. */
export function sentenceText(parts: readonly SentencePart[]): string {
  return parts.map(({ text }) => text).join('');
}

function waits({ held: [pending] }: RunFacts): Clause {
  if (pending === undefined) return [];
  return [
    { text: pending.tool, span: pending.span.id },
    { text: ' ' },
    { text: 'waits for an approval', tone: 'warn', span: pending.span.id },
  ];
}

function calls({ calls: all, failed, mended, denied, withheld, held }: RunFacts): Clause {
  const parts: SentencePart[] = [{ text: `${all.length} ${all.length === 1 ? 'tool call' : 'tool calls'}` }];
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
    parts.push({ text: ` (${shown(first, first.reason)}${more(stopped)})` });
  }
  const troubles = [failed, mended, denied, withheld, held];
  if (all.length > 0 && troubles.every((calls) => calls.length === 0)) parts.push({ text: ', none failed' });
  return parts;
}

function errors({ otherErrors }: RunFacts): Clause {
  const first = otherErrors[0];
  if (first === undefined) return [];
  const message = first.message === null ? '' : `: ${clipped(first.message)}`;
  const rest = otherErrors.length > 1 ? ` and ${otherErrors.length - 1} more` : '';
  return [
    { text: `${clipped(first.name)} failed`, tone: 'bad', span: first.id },
    { text: `${message}${rest}` },
  ];
}

function answer({ contradicted, unsupported }: RunFacts): Clause {
  const against = contradicted.at(-1);
  if (against !== undefined) {
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
  if (modelCalls.length === 0) return [];
  const first = unpriced[0];
  if (first === undefined) return [{ text: `${formatUsd(costUsd)}${definitions(spans)}` }];
  if (unpriced.length === modelCalls.length) {
    return [
      { text: `unpriced: no price is known for ${clipped(first.model ?? 'the model')}`, span: first.id },
    ];
  }
  const count = unpriced.length === 1 ? '1 model call' : `${unpriced.length} model calls`;
  return [{ text: `${formatUsd(costUsd)} and ${count} unpriced`, span: first.id }];
}

/** Of the cost, what tool definitions took: those of the server that took the most, where the spans tell. */
function definitions(spans: readonly RunSpan[]): string {
  const found = definitionsOf(spans);
  if (found === undefined || found.costUsd <= 0) return '';
  const [first] = found.servers;
  if (first === undefined) return `, of which ${formatUsd(found.costUsd)} are tool definitions`;
  const whose = first.server === '' ? 'the program' : `server ${clipped(first.server)}`;
  const usd = formatUsd(found.costUsd * first.share);
  return `, of which ${usd} are definitions of ${whose} (${first.offered} offered, ${first.used} used)`;
}

function duration({ durationMs, heldMs, held }: RunFacts): Clause {
  if (held.length > 0) return [];
  // A wait that nobody would notice is not worth a clause.
  if (heldMs < 1000) return [{ text: `${formatDuration(durationMs)} in all` }];
  return [{ text: `${formatDuration(heldMs)} of ${formatDuration(durationMs)} waited for an approval` }];
}

function shown({ tool }: RunCall, why: string | null | undefined): string {
  return why == null || why === '' ? tool : `${tool}: ${clipped(why)}`;
}

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
