import type { InteractionKind } from '../kind.ts';
import type { Message } from '../messages.ts';
import type { SpanView } from '../span-view.ts';

/**
 * What one dialect found on a span. The request side (`input`) and the answer side (`output`) are each taken from
 * the first dialect that has them; documents and arguments likewise.
 */
export interface DialectContent {
  readonly input?: readonly Message[] | undefined;
  readonly output?: readonly Message[] | undefined;
  /** Texts retrieved for the call, besides the tool results in `input`. */
  readonly documents?: readonly string[] | undefined;
  /** Arguments of the tool this span executes, as a JSON value. */
  readonly toolArguments?: unknown;
}

/** One way in which instrumentations write what a call said. Pure, and tolerant of anything: `read` never throws. */
export interface Dialect {
  readonly name: string;
  read(span: SpanView, kind: InteractionKind): DialectContent | undefined;
}

/** `undefined` in place of an empty list, so that the next dialect is asked. */
export function someOf<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length === 0 ? undefined : items;
}
