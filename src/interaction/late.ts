/**
 * Spans that are written after they have ended, where nobody reads them before: an instrumentation then leaves what takes
 * time, reading a request and its answer, for the time after the call.
 */
import type { Span } from '@opentelemetry/api';

/** Registered, so that an instrumentation and a processor from two installed copies of this package share it. */
const LATE: unique symbol = Symbol.for('mcp-observatory.late') as never;

/** What is left to write on a span, and the characters of texts that it holds until then. */
export interface LateWork {
  readonly characters: number;
  /** Sets attributes and attaches data; the span takes them as if it had not ended. Never throws. */
  write(): void;
}

/** Wants to know when work is left, before anybody reads the span. */
export interface LateReader {
  left(span: Span): void;
}

interface LateSpan {
  /** Until there is work, who wants to know of it, or `null`. */
  [LATE]?: LateWork | LateReader | null | undefined;
}

/**
 * Declares that work left on a span will be done before anybody reads the span.
 * @param reader called when work is left. @defaultValue nobody
 */
export function acceptLateWork(span: object, reader: LateReader | null = null): void {
  try {
    (span as LateSpan)[LATE] = reader;
  } catch {
    // A frozen span is written before its end.
  }
}

/** Whether work may be left on a span. */
export function takesLateWork(span: Span): boolean {
  const late = (span as LateSpan)[LATE];
  return late === null || isReader(late);
}

/** Leaves work on a span that {@link takesLateWork}, which is about to end. */
export function leaveLateWork(span: Span, work: LateWork): void {
  const late = (span as LateSpan)[LATE];
  (span as LateSpan)[LATE] = work;
  if (isReader(late)) late.left(span);
}

/** Returns and removes the work that was left on a span. */
export function takeLateWork(span: object): LateWork | undefined {
  const work = (span as LateSpan)[LATE];
  if (!isWork(work)) return undefined;
  try {
    (span as LateSpan)[LATE] = undefined;
  } catch {
    // A frozen span keeps it: writing it once more changes nothing.
  }
  return work;
}

/** The characters that the work left on a span holds. */
export function lateCharacters(span: object): number {
  const work = (span as LateSpan)[LATE];
  return isWork(work) ? work.characters : 0;
}

function isWork(late: LateSpan[typeof LATE]): late is LateWork {
  return late !== undefined && late !== null && 'write' in late;
}

function isReader(late: LateSpan[typeof LATE]): late is LateReader {
  return late !== undefined && late !== null && 'left' in late;
}
