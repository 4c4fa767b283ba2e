import { parseContainerOrKeep } from '../../json/index.ts';
import type { InteractionKind } from '../kind.ts';
import type { Message } from '../messages.ts';
import { readProviderResponse } from '../provider-response.ts';
import type { SpanView } from '../span-view.ts';

/** What one dialect found on a span. Each field is taken from the first dialect that has it. */
export interface DialectContent {
  readonly input?: readonly Message[] | undefined;
  readonly output?: readonly Message[] | undefined;
  /** Texts retrieved for the call, besides the tool results in `input`. */
  readonly documents?: readonly string[] | undefined;
  /** Arguments of the tool this span executes, as a JSON value. */
  readonly toolArguments?: unknown;
}

/** A convention for writing calls to spans. `read` is pure and never throws. */
export interface Dialect {
  readonly name: string;
  read(span: SpanView, kind: InteractionKind): DialectContent | undefined;
}

/** `undefined` for an empty list, so that the next dialect is tried. */
export function someOf<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length === 0 ? undefined : items;
}

/** The answer in a span's whole output: the text of a provider's response, else the output itself. */
export function answerIn(output: string): readonly Message[] {
  const decoded = parseContainerOrKeep(output);
  const answer = typeof decoded === 'string' ? decoded : readProviderResponse(decoded).answer;
  return [{ role: 'assistant', parts: [{ type: 'text', content: answer ?? output }] }];
}
