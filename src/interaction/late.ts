/**
 * Spans that are written after they have ended, in a pipeline of our own in which nobody reads them before: an
 * instrumentation then leaves what takes time, reading a request and its answer, for the time after the call.
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

interface LateSpan {
  /** `null` while work may be left. */
  [LATE]?: LateWork | null | undefined;
}

/** Declares that work left on a span will be done before anybody reads the span. */
export function acceptLateWork(span: object): void {
  try {
    (span as LateSpan)[LATE] = null;
  } catch {
    // A frozen span is written before its end.
  }
}

/** Whether work may be left on a span. */
export function takesLateWork(span: Span): boolean {
  return (span as LateSpan)[LATE] === null;
}

/** Leaves work on a span that {@link takesLateWork}, which is about to end. */
export function leaveLateWork(span: Span, work: LateWork): void {
  (span as LateSpan)[LATE] = work;
}

/** Returns and removes the work that was left on a span. */
export function takeLateWork(span: object): LateWork | undefined {
  const work = (span as LateSpan)[LATE] ?? undefined;
  if (work === undefined) return undefined;
  try {
    (span as LateSpan)[LATE] = undefined;
  } catch {
    // A frozen span keeps it: writing it once more changes nothing.
  }
  return work;
}

/** The characters that the work left on a span holds. */
export function lateCharacters(span: object): number {
  return (span as LateSpan)[LATE]?.characters ?? 0;
}
