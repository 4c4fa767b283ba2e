import { isObject, parseContainerOrKeep, readList, toJsonText } from '../../json/index.ts';
import type { InteractionKind } from '../kind.ts';
import type { Message } from '../messages.ts';
import { parseMessages } from '../parse-messages.ts';
import { readProviderResponse } from '../provider-response.ts';
import type { SpanView } from '../span-view.ts';

/** What one dialect found on a span. Each field is taken from the first dialect that has it. */
export interface DialectContent {
  readonly input?: readonly Message[] | undefined;
  readonly output?: readonly Message[] | undefined;
  /** Texts retrieved for the call, besides the tool results in `input`. */
  readonly documents?: readonly string[] | undefined;
  /** Where they stand with the content. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** Arguments of the tool this span executes, as a JSON value. */
  readonly toolArguments?: unknown;
  /** Its result as it was written. */
  readonly toolResult?: unknown;
}

/** A convention for writing calls to spans. `read` is pure and never throws. */
export interface Dialect {
  readonly name: string;
  read(span: SpanView, kind: InteractionKind): DialectContent | undefined;
}

/** `undefined` for an empty list, so that the next dialect is tried. */
export function toNonEmpty<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length === 0 ? undefined : items;
}

/**
 * The answer in a span's whole output: the text of messages, of generations as LangChain writes them, of choices, or of a
 * provider's response; else the output itself. A message that holds calls only has no text.
 */
export function answerIn(output: unknown): readonly Message[] {
  const decoded = parseContainerOrKeep(output);
  const messages = parseMessages(typeof decoded === 'string' ? [] : messagesIn(decoded), 'assistant');
  if (messages.some(({ parts }) => parts.length > 0)) {
    return messages;
  }
  const answer = typeof decoded === 'string' ? decoded : readProviderResponse(decoded).answer;
  const content = answer ?? (typeof output === 'string' ? output : toJsonText(output));
  return content === undefined ? [] : [{ role: 'assistant', parts: [{ type: 'text', content }] }];
}

function messagesIn(output: unknown): readonly unknown[] {
  if (Array.isArray(output)) return output.map((item) => (isObject(item) && item.message) || item);
  if (!isObject(output)) return [];
  const generations = readList(output.generations).flat();
  if (generations.length > 0) return generations.map((item) => (isObject(item) && item.message) || item);
  if (isObject(output.message)) return [output.message];
  if (Array.isArray(output.replies)) return output.replies;
  return output.role === undefined && output.lc === undefined ? [] : [output];
}
