import {
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  readList,
  stringAt,
  toText,
} from '../../json/index.ts';
import { saysOtherCurrency } from '../../signals/index.ts';
import type { AnswerDelta, AnswerStream } from '../contract/index.ts';
import { StreamRoom, TextBuffer } from '../contract/index.ts';
import { calledFunction, thinkingText } from './chat-answer.ts';

/** Choices, and calls over all choices, that are kept apart: more than the API allows. */
const MAX_SLOTS = 1024;

interface StreamedCall {
  readonly index: number;
  id: string | undefined;
  name: string;
  readonly isCustom: boolean;
  readonly text: TextBuffer;
  /** Arguments that came as an object in place of text. */
  value: JsonObject | undefined;
}

interface StreamedChoice {
  readonly index: number;
  readonly text: TextBuffer;
  readonly refusal: TextBuffer;
  readonly reasoning: TextBuffer;
  readonly transcript: TextBuffer;
  readonly calls: StreamedCall[];
  readonly callsById: Map<string, StreamedCall>;
  /** The call that a nameless fragment of this index continues. */
  readonly openCalls: Map<number, StreamedCall>;
  /** A legacy completion, whose text is not in a message. */
  isText: boolean;
  finishReason: string | undefined;
}

/** Assembles the chunks of a `chat.completion`, and those of the legacy `text_completion`. */
export class ChatStream implements AnswerStream {
  readonly #room = new StreamRoom();
  /** Fields of the whole answer that each chunk repeats; the first value that says something is kept. */
  #id: unknown;
  #created: unknown;
  #model: unknown;
  #provider: unknown;
  #tier: unknown;
  #fingerprint: unknown;
  readonly #choices = new Map<number, StreamedChoice>();
  #usage: JsonObject | undefined;
  /** What a chunk says of the currency of a cost that it or another one tells. */
  #currency: JsonObject | undefined;
  #error: unknown;
  #calls = 0;

  push(chunk: unknown, onDelta?: (delta: AnswerDelta) => void): void {
    if (!isObject(chunk)) return;
    this.#id ||= chunk.id;
    this.#created ||= chunk.created;
    this.#model ||= chunk.model;
    this.#provider ||= chunk.provider;
    this.#tier ||= chunk.service_tier;
    this.#fingerprint ||= chunk.system_fingerprint;
    this.#error ??= chunk.error;
    // Groq has a place of its own for the usage of a stream that was not asked for it.
    if (chunk.usage ?? chunk.x_groq)
      this.#usage = objectAt(chunk, 'usage') ?? objectAt(chunk.x_groq, 'usage') ?? this.#usage;
    this.#currency ??= currencyIn(chunk);
    // The usage chunk of `stream_options.include_usage` has no choices.
    for (const choice of readList(chunk.choices)) if (isObject(choice)) this.#add(choice, onDelta);
  }

  #add(choice: JsonObject, onDelta: ((delta: AnswerDelta) => void) | undefined): void {
    const index = numberAt(choice, 'index') ?? 0;
    const slot = this.#choice(index);
    if (slot === undefined) return;
    slot.finishReason = toText(choice.finish_reason) ?? slot.finishReason;
    // Moonshot's place for it.
    this.#usage = objectAt(choice, 'usage') ?? this.#usage;
    this.#error ??= choice.error;
    const delta = objectAt(choice, 'delta');
    const tell = index === 0 ? onDelta : undefined;
    if (delta === undefined) {
      slot.isText ||= typeof choice.text === 'string';
      report(tell, 'text', slot.text.push(choice.text));
      return;
    }
    const { content, refusal, audio, tool_calls: calls } = delta;
    report(tell, 'reasoning', slot.reasoning.push(delta.reasoning_content ?? delta.reasoning));
    if (typeof content === 'string') report(tell, 'text', slot.text.push(content));
    else for (const part of readList(content)) this.#addPart(slot, part, tell);
    if (refusal) slot.refusal.push(refusal);
    if (audio) slot.transcript.push(stringAt(audio, 'transcript'));
    if (calls) for (const call of readList(calls)) if (isObject(call)) this.#addCall(slot, call);
    const legacy = objectAt(delta, 'function_call');
    if (legacy !== undefined) this.#addCall(slot, { index: -1, function: legacy });
  }

  /** Mistral gives the text as parts when the model thinks. */
  #addPart(slot: StreamedChoice, part: unknown, tell: ((delta: AnswerDelta) => void) | undefined): void {
    report(tell, 'reasoning', slot.reasoning.push(thinkingText(part)));
    report(tell, 'text', slot.text.push(stringAt(part, 'text')));
  }

  #choice(index: number): StreamedChoice | undefined {
    const known = this.#choices.get(index);
    if (known !== undefined || this.#choices.size >= MAX_SLOTS) return known;
    const choice: StreamedChoice = {
      index,
      text: new TextBuffer(this.#room),
      refusal: new TextBuffer(this.#room),
      reasoning: new TextBuffer(this.#room),
      transcript: new TextBuffer(this.#room),
      calls: [],
      callsById: new Map(),
      openCalls: new Map(),
      isText: false,
      finishReason: undefined,
    };
    this.#choices.set(index, choice);
    return choice;
  }

  #addCall(slot: StreamedChoice, fragment: JsonObject): void {
    const called = calledFunction(fragment);
    const call = this.#findCall(slot, fragment, stringAt(called, 'name') ?? '');
    if (call === undefined) return;
    const given = called.arguments ?? called.input;
    if (isObject(given)) call.value = given;
    else call.text.push(given);
  }

  /**
   * The call a fragment belongs to. Only a fragment that names its tool begins another call: some servers number all
   * calls alike, or none, and vLLM gives each fragment an id of its own.
   */
  #findCall(slot: StreamedChoice, fragment: JsonObject, name: string): StreamedCall | undefined {
    const id = stringAt(fragment, 'id') || undefined;
    const given = numberAt(fragment, 'index');
    const sameId = id === undefined ? undefined : slot.callsById.get(id);
    // Some servers give parallel calls one id.
    const isOther = name !== '' && given !== undefined && given !== sameId?.index;
    const byId = isOther ? undefined : sameId;
    const index = given ?? slot.calls.at(-1)?.index ?? 0;
    const open = byId ?? slot.openCalls.get(index);
    const continues =
      open !== undefined &&
      (name === '' || open.name === '' || open === byId || (id === undefined && given !== undefined));
    if (open !== undefined && continues) {
      open.name ||= name;
      if (open.id === undefined && id !== undefined) {
        open.id = id;
        slot.callsById.set(id, open);
      }
      return open;
    }
    if (this.#calls >= MAX_SLOTS) return undefined;
    this.#calls += 1;
    const call: StreamedCall = {
      index,
      id,
      name,
      isCustom: isObject(fragment.custom),
      text: new TextBuffer(this.#room),
      value: undefined,
    };
    slot.calls.push(call);
    if (id !== undefined) slot.callsById.set(id, call);
    slot.openCalls.set(index, call);
    return call;
  }

  /** The SDK keeps `[DONE]` to itself, so an answer is complete when each choice says why it ended. */
  get isComplete(): boolean {
    if (this.#choices.size === 0) return false;
    for (const { finishReason } of this.#choices.values()) if (finishReason === undefined) return false;
    return true;
  }

  whole(): JsonObject {
    const choices = [...this.#choices.values()].sort((a, b) => a.index - b.index);
    const isText = choices.some((choice) => choice.isText);
    return {
      ...this.#currency,
      id: this.#id || '',
      object: isText ? 'text_completion' : 'chat.completion',
      created: this.#created || 0,
      model: this.#model || '',
      ...(this.#provider ? { provider: this.#provider } : {}),
      ...(this.#tier ? { service_tier: this.#tier } : {}),
      ...(this.#fingerprint ? { system_fingerprint: this.#fingerprint } : {}),
      choices: choices.map(isText ? wholeText : wholeChoice),
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      ...(this.#error ? { error: this.#error } : {}),
    };
  }
}

function report(
  tell: ((delta: AnswerDelta) => void) | undefined,
  type: AnswerDelta['type'],
  text: string,
): void {
  if (tell !== undefined && text !== '') tell({ type, text });
}

/**
 * The first member that says so; that of a usage under a name that the last usage does not take. Of the names of most
 * chunks none could.
 */
function currencyIn(chunk: JsonObject): JsonObject | undefined {
  for (const name in chunk) {
    if (MAY_SAY.test(name) && saysOtherCurrency({ [name]: chunk[name] }))
      return { [name === 'usage' ? 'billing' : name]: chunk[name] };
  }
  return undefined;
}

const MAY_SAY = /currency|unit|cost|pric|bill|charge|spend|money|usage/i;

function wholeText({ index, text, finishReason }: StreamedChoice): JsonObject {
  return { index, text: text.toString(), logprobs: null, finish_reason: finishReason ?? null };
}

function wholeChoice(choice: StreamedChoice): JsonObject {
  const { index, text, refusal, reasoning, transcript, finishReason } = choice;
  const calls = [...choice.calls].sort((a, b) => a.index - b.index);
  return {
    index,
    message: {
      role: 'assistant',
      content: text.isEmpty ? null : text.toString(),
      refusal: refusal.isEmpty ? null : refusal.toString(),
      ...(reasoning.isEmpty ? {} : { reasoning_content: reasoning.toString() }),
      ...(transcript.isEmpty ? {} : { audio: { transcript: transcript.toString() } }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(wholeCall) }),
    },
    logprobs: null,
    finish_reason: finishReason ?? null,
  };
}

function wholeCall({ id = '', name, isCustom, text, value }: StreamedCall): JsonObject {
  return isCustom
    ? { id, type: 'custom', custom: { name, input: text.toString() } }
    : {
        id,
        type: 'function',
        function: { name, arguments: text.isEmpty && value ? value : text.toString() },
      };
}
