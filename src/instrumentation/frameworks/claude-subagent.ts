/** The model calls of a subagent, from its messages, of which one or more tell of one call. */
import type { Context } from '@opentelemetry/api';
import { parseMessages } from '../../interaction/index.ts';
import { type JsonObject, listAt, stringAt } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { anthropicMessages } from '../../wire/index.ts';
import { AnswerReader } from '../shared/index.ts';
import type { FrameworkModelCall, FrameworkRun } from './run.ts';

/** What a call that has ended is known to have used. */
interface EndedCall {
  readonly model?: string | undefined;
  readonly usage?: TokenUsage | undefined;
}

interface Asked {
  readonly call: FrameworkModelCall;
  readonly message: JsonObject;
  readonly blocks: unknown[];
}

/** Most messages of the conversation that are kept for its hash, blocks of an answer, and calls. */
const MAX_HISTORY = 100;
const MAX_BLOCKS = 1000;
const MAX_CALLS = 10_000;

export class Subagent {
  /** Of the tool call that started it. */
  readonly context: Context;
  readonly #run: FrameworkRun;
  readonly #history: unknown[] = [];
  readonly #ids = new Set<string>();
  #asked: Asked | undefined;
  /** Since when the model may have been asked. */
  #sinceMs = performance.now();

  constructor(run: FrameworkRun, context: Context, input: unknown) {
    this.#run = run;
    this.context = context;
    const prompt = stringAt(input, 'prompt');
    if (prompt !== undefined) this.#history.push({ role: 'user', content: prompt });
  }

  /** A part of an answer. @returns the call before it, if that ends with it. */
  said(message: JsonObject): EndedCall {
    const id = stringAt(message, 'id');
    if (id === undefined) return {};
    let before: EndedCall = {};
    if (stringAt(this.#asked?.message, 'id') !== id) {
      before = this.endCall();
      // A message that the program wrote itself has the usage of no call.
      if (this.#ids.has(id) || this.#ids.size >= MAX_CALLS || !hasInput(message)) return before;
      this.#ids.add(id);
      const size = this.#history.length;
      const step = {
        provider: 'anthropic',
        model: stringAt(message, 'model'),
        startMs: this.#sinceMs,
        messages: () => parseMessages(this.#history.slice(0, size)),
      };
      this.#asked = { call: this.#run.startModel(step, this.context), message, blocks: [] };
    }
    this.#remember(message);
    const blocks = this.#asked?.blocks ?? [];
    if (blocks.length < MAX_BLOCKS) blocks.push(...listAt(message, 'content'));
    return before;
  }

  /** What its tools gave, after which the model is asked again. @returns the call before it. */
  told(message: unknown): EndedCall {
    const before = this.endCall();
    this.#remember(message);
    this.#sinceMs = performance.now();
    return before;
  }

  chose(tool: { readonly id: string; readonly name: string }): void {
    this.#asked?.call.chose(tool);
  }

  endCall(): EndedCall {
    if (this.#asked === undefined) return {};
    const { call, message, blocks } = this.#asked;
    this.#asked = undefined;
    this.#sinceMs = performance.now();
    const reader = new AnswerReader(anthropicMessages);
    reader.whole({ ...message, content: blocks });
    const { messages, usage: told, ...answer } = reader.result();
    // The tokens of its output are not counted yet when a message comes.
    const usage = told && { ...told, outputTokens: undefined, reasoningTokens: undefined };
    call.answer({ ...answer, usage, message: messages()[0] });
    return { model: answer.model, usage };
  }

  #remember(message: unknown): void {
    if (this.#history.length < MAX_HISTORY) this.#history.push(message);
  }
}

function hasInput(message: JsonObject): boolean {
  const reader = new AnswerReader(anthropicMessages);
  reader.whole(message);
  return (reader.result().usage?.inputTokens ?? 0) > 0;
}
