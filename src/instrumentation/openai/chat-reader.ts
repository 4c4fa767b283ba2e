import type { Attributes } from '@opentelemetry/api';
import { type OutputMessage, readOpenAiUsage, readReportedCost } from '../../interaction/index.ts';
import { isObject, type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../json/index.ts';
import {
  firstCode,
  type ModelResponse,
  outputMessage,
  type ResponseReader,
  StreamRoom,
  TextBuffer,
} from '../shared/index.ts';
import * as own from '../shared/semconv.ts';

/** More choices or parallel tool calls than the API allows are not kept apart. */
const MAX_SLOTS = 1024;

interface StreamedTool {
  id: string | undefined;
  name: string;
  readonly args: TextBuffer;
}

interface StreamedChoice {
  readonly text: TextBuffer;
  readonly tools: Map<number, StreamedTool>;
  finishReason: string | undefined;
}

/** Reads `chat.completion` objects and their chunks, and those of the legacy `text_completion`. */
export class ChatReader implements ResponseReader {
  #id: string | undefined;
  #model: string | undefined;
  #usage: unknown;
  #attributes: Attributes = {};
  #whole: readonly unknown[] | undefined;
  #errorType: string | undefined;
  readonly #choices = new Map<number, StreamedChoice>();

  whole(value: unknown): void {
    this.#envelope(value);
    this.#whole = listAt(value, 'choices');
    if (this.#whole.length === 0) this.#errorType = errorTypeOf(objectAt(value, 'error'));
  }

  chunk(value: unknown): void {
    this.#envelope(value);
    // The usage chunk of `stream_options.include_usage` has no choices.
    for (const choice of listAt(value, 'choices')) this.#add(choice);
  }

  result(): ModelResponse {
    return {
      id: this.#id,
      model: this.#model,
      finishReasons: this.#finishReasons(),
      usage: readOpenAiUsage(this.#usage),
      costUsd: readReportedCost(this.#usage),
      messages: () => this.#whole?.map(wholeMessage) ?? [...this.#choices].sort(byIndex).map(streamedMessage),
      toolCallCount: this.#toolCallCount(),
      attributes: this.#attributes,
      errorType: this.#errorType,
    };
  }

  #envelope(value: unknown): void {
    this.#id ??= stringAt(value, 'id') || undefined;
    this.#model ??= stringAt(value, 'model') || undefined;
    // Groq has a place of its own for the usage of a stream that was not asked for it.
    const usage = objectAt(value, 'usage') ?? objectAt(objectAt(value, 'x_groq'), 'usage');
    if (usage !== undefined) this.#usage = usage;
    const tier = stringAt(value, 'service_tier');
    if (tier !== undefined) this.#attributes[own.ATTR_OPENAI_RESPONSE_SERVICE_TIER] = tier;
    const fingerprint = stringAt(value, 'system_fingerprint');
    if (fingerprint !== undefined)
      this.#attributes[own.ATTR_OPENAI_RESPONSE_SYSTEM_FINGERPRINT] = fingerprint;
  }

  #add(choice: unknown): void {
    const index = numberAt(choice, 'index') ?? 0;
    const slot = slotOf(this.#choices, index, () => ({
      text: new TextBuffer(new StreamRoom()),
      tools: new Map<number, StreamedTool>(),
      finishReason: undefined,
    }));
    slot.finishReason = stringAt(choice, 'finish_reason') ?? slot.finishReason;
    // Moonshot's place for it.
    const usage = objectAt(choice, 'usage');
    if (usage !== undefined) this.#usage = usage;
    const delta = objectAt(choice, 'delta');
    if (delta === undefined) slot.text.push(stringAt(choice, 'text'));
    else pushText(slot.text, delta);
    for (const [position, call] of listAt(delta, 'tool_calls').entries()) {
      const id = stringAt(call, 'id');
      const called = calledFunction(call);
      const index = numberAt(call, 'index') ?? position;
      // Only the first fragment names the tool; vLLM gives each one an id of its own.
      addTool(slot, stringAt(called, 'name') ? slotIndex(slot.tools, index, id) : index, id, called);
    }
    const legacy = objectAt(delta, 'function_call');
    if (legacy !== undefined) addTool(slot, -1, undefined, legacy);
  }

  #toolCallCount(): number {
    let count = 0;
    for (const choice of this.#whole ?? []) count += listAt(spoken(choice), 'tool_calls').length;
    for (const { tools } of this.#choices.values()) count += tools.size;
    return count;
  }

  #finishReasons(): string[] {
    const reasons =
      this.#whole?.map((choice) => stringAt(choice, 'finish_reason')) ??
      [...this.#choices].sort(byIndex).map(([, { finishReason }]) => finishReason);
    return reasons.filter((reason): reason is string => reason !== undefined);
  }
}

/** A router answers with status 200 and an error in place of choices when the provider behind it failed. */
function errorTypeOf(error: JsonObject | undefined): string | undefined {
  if (error === undefined) return undefined;
  return firstCode(error.code, error.type) ?? numberAt(error, 'code')?.toString() ?? 'error';
}

/** The text of one piece: mostly `content`, which Mistral gives as parts when the model thinks. */
function pushText(text: TextBuffer, delta: JsonObject): void {
  const content = delta.content ?? delta.refusal;
  if (typeof content === 'string') text.push(content);
  else if (Array.isArray(content)) for (const part of content) text.push(stringAt(part, 'text'));
  else text.push(objectAt(delta, 'audio')?.transcript);
}

/**
 * Where a fragment that names its tool belongs. Some servers number all calls alike, or none; one with another id then
 * begins another call.
 */
function slotIndex(tools: ReadonlyMap<number, StreamedTool>, index: number, id: string | undefined): number {
  const known = tools.get(index)?.id;
  if (!id || !known || known === id) return index;
  for (const [other, tool] of tools) if (tool.id === id) return other;
  let free = tools.size;
  while (tools.has(free)) free++;
  return free;
}

function calledFunction(call: unknown): unknown {
  return objectAt(call, 'function') ?? objectAt(call, 'custom');
}

function addTool(choice: StreamedChoice, index: number, id: string | undefined, called: unknown): void {
  const tool = slotOf(choice.tools, index, () => ({
    id: undefined,
    name: '',
    args: new TextBuffer(new StreamRoom()),
  }));
  tool.id ??= id;
  tool.name ||= stringAt(called, 'name') ?? '';
  tool.args.push(isObject(called) ? (called.arguments ?? called.input) : undefined);
}

function slotOf<T>(slots: Map<number, T>, index: number, make: () => T): T {
  const known = slots.get(index);
  if (known !== undefined) return known;
  const made = make();
  if (slots.size < MAX_SLOTS) slots.set(index, made);
  return made;
}

function byIndex(a: readonly [number, unknown], b: readonly [number, unknown]): number {
  return a[0] - b[0];
}

function wholeMessage(choice: unknown): OutputMessage {
  return outputMessage(spoken(choice), stringAt(choice, 'finish_reason'));
}

/** The message of a choice; legacy completions have a text, legacy functions a single call. */
function spoken(choice: unknown): unknown {
  const message = objectAt(choice, 'message');
  if (message === undefined) return stringAt(choice, 'text') ?? '';
  const legacy = objectAt(message, 'function_call');
  return legacy === undefined ? message : { ...message, tool_calls: [{ function: legacy }] };
}

function streamedMessage([, choice]: readonly [number, StreamedChoice]): OutputMessage {
  const calls = [...choice.tools].sort(byIndex).map(([, { id, name, args }]) => ({
    id,
    function: { name, arguments: args.toString() },
  }));
  const content = choice.text.isEmpty ? undefined : choice.text.toString();
  return outputMessage({ role: 'assistant', content, tool_calls: calls }, choice.finishReason);
}
