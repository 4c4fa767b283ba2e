/** The calls in a model's answer as they are run and sent back: each with an id of its own, and the one that was cut marked. */
import type { AssistantMessage, Completion } from './providers/index.ts';

/** Makes the calls of one run distinct. */
export class ModelCalls {
  readonly #ids = new Set<string>();

  /** @returns the message of an answer, the same where nothing has to change. */
  settle({ message, finishReason }: Pick<Completion, 'message' | 'finishReason'>): AssistantMessage {
    const last = message.parts.findLastIndex((part) => part.type === 'tool_call');
    const isCut = finishReason === 'length' && last === message.parts.length - 1;
    const parts = message.parts.map((part, index) => {
      if (part.type !== 'tool_call') return part;
      const id = this.#unused(part.id);
      const cut = isCut && index === last;
      return id === part.id && !cut ? part : { ...part, id, ...(cut ? { isCut: true as const } : {}) };
    });
    return { ...message, parts };
  }

  /**
   * The id, or one made from it where a call of the run has it already: some models give parallel calls one id, or count
   * anew with each turn, and Anthropic refuses a conversation with an id in it twice.
   */
  #unused(given: string): string {
    let id = given;
    for (let count = 2; this.#ids.has(id); count += 1) id = `${given}_${count}`;
    this.#ids.add(id);
    return id;
  }
}
