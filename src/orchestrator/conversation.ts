import { type CompactionPlan, compacted, estimateMessageTokens, planCompaction } from './compaction.ts';
import { type AssistantMessage, listToolCalls, type ModelMessage, visibleText } from './providers/index.ts';
import type { ConversationEntry } from './result.ts';

/** The conversation of a run: all of it for the result, and the part of it the model is shown. */
export class Conversation {
  readonly #all: ModelMessage[] = [];
  #shown: ModelMessage[] = [];
  #headLength = 0;
  /** What the provider counted for the messages before this position. */
  #counted: { readonly tokens: number; readonly messages: number } = { tokens: 0, messages: 0 };

  /** @param head system prompt and task, which every request holds. */
  constructor(head: readonly ModelMessage[]) {
    this.#all.push(...head);
    this.#shown = [...head];
    this.#headLength = head.length;
  }

  push(message: ModelMessage): void {
    this.#all.push(message);
    this.#shown.push(message);
  }

  /** Replaces the task, for instance to add a plan to it. */
  replaceTask(message: ModelMessage): void {
    this.#all[this.#headLength - 1] = message;
    this.#shown[this.#headLength - 1] = message;
  }

  /**
   * What the next request holds.
   * @param withMemory without it only the head and the last turn with its results.
   */
  forModel(withMemory: boolean): readonly ModelMessage[] {
    if (withMemory) return this.#shown;
    const last = this.#shown.findLastIndex((message) => message.role === 'assistant');
    return last < 0 ? this.#shown : [...this.#shown.slice(0, this.#headLength), ...this.#shown.slice(last)];
  }

  /** Notes what the provider counted as input of the last request, which held everything shown then. */
  countedInput(tokens: number | undefined, messages: number): void {
    if (tokens !== undefined) this.#counted = { tokens, messages };
  }

  /** Size of the next request in tokens: counted by the provider as far as it has, by rule of thumb beyond. */
  get size(): number {
    return this.#counted.tokens + estimateMessageTokens(this.#shown.slice(this.#counted.messages));
  }

  get length(): number {
    return this.#shown.length;
  }

  planCompaction(keepTurns: number, maxTokens: number): CompactionPlan | undefined {
    return planCompaction(this.#shown, this.#headLength, keepTurns, maxTokens);
  }

  compact(plan: CompactionPlan, summary: string): void {
    this.#shown = compacted(plan, summary);
    this.#counted = { tokens: 0, messages: 0 };
  }

  /** All turns, where the next request does not hold them all. */
  history(isAllShown: boolean): readonly ModelMessage[] | undefined {
    return isAllShown && this.#shown.length === this.#all.length ? undefined : this.#all;
  }

  /** The whole conversation, summaries apart, in the form of the result. */
  toEntries(): ConversationEntry[] {
    return this.#all.flatMap(toEntries);
  }
}

function toEntries(message: ModelMessage): ConversationEntry[] {
  if (message.role === 'tool') {
    return message.parts.map(({ id, content }) => ({
      role: 'tool',
      content: visibleText(content),
      toolCalls: null,
      toolCallId: id,
    }));
  }
  const { role } = message;
  const content = role === 'system' ? message.text : visibleText(message.parts);
  return [{ role, content, toolCalls: role === 'assistant' ? toCalls(message) : null, toolCallId: null }];
}

function toCalls(message: AssistantMessage): ConversationEntry['toolCalls'] {
  const calls = listToolCalls(message);
  if (calls.length === 0) return null;
  return calls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments }));
}
