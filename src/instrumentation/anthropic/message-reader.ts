import { readAnthropicUsage } from '../../interaction/index.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  parseOrKeep,
  stringAt,
} from '../../json/index.ts';
import {
  type ModelResponse,
  outputMessage,
  type ResponseReader,
  StreamRoom,
  TextBuffer,
} from '../shared/index.ts';
import * as own from '../shared/semconv.ts';

/** Content blocks kept of one streamed message. */
const MAX_BLOCKS = 4096;

interface StreamedBlock {
  /** The block as it was opened. */
  readonly opened: JsonObject;
  readonly text: TextBuffer;
  readonly input: TextBuffer;
}

/** Reads a `message`, or the events of its stream. */
export class MessageReader implements ResponseReader {
  #id: string | undefined;
  #model: string | undefined;
  #stopReason: string | undefined;
  #hasStopped = false;
  #usage: Record<string, unknown> | undefined;
  /** Of `message_start`, which holds until `message_delta` comes, if it comes. */
  #outputDetails: unknown;
  #content: readonly unknown[] | undefined;
  readonly #blocks = new Map<number, StreamedBlock>();

  whole(value: unknown): void {
    this.#start(value);
    this.#stopReason = stringAt(value, 'stop_reason');
    this.#usage = isObject(value) && isObject(value.usage) ? value.usage : undefined;
    this.#content = listAt(value, 'content');
  }

  chunk(value: unknown): void {
    switch (stringAt(value, 'type')) {
      case 'message_start':
        this.#start(objectAt(value, 'message'));
        this.#begin(objectAt(objectAt(value, 'message'), 'usage') ?? {});
        break;
      case 'content_block_start':
        this.#open(numberAt(value, 'index') ?? this.#blocks.size, objectAt(value, 'content_block') ?? {});
        break;
      case 'content_block_delta':
        this.#extend(numberAt(value, 'index') ?? 0, objectAt(value, 'delta'));
        break;
      case 'message_delta':
        this.#stopReason = stringAt(objectAt(value, 'delta'), 'stop_reason') ?? this.#stopReason;
        this.#addTotals(objectAt(value, 'usage'));
        break;
      case 'message_stop':
        this.#hasStopped = true;
        break;
    }
  }

  /** Whether the last event of a stream has come. */
  get hasStopped(): boolean {
    return this.#hasStopped;
  }

  result(): ModelResponse {
    const content = this.#content ?? [...this.#blocks.values()].map(blockOf);
    const reason = this.#stopReason;
    const tier = stringAt(this.#usage, 'service_tier');
    return {
      id: this.#id,
      model: this.#model,
      finishReasons: reason === undefined ? [] : [reason],
      usage: readAnthropicUsage(this.#usage),
      messages: () => (content.length === 0 ? [] : [outputMessage([{ role: 'assistant', content }], reason)]),
      // A server_tool_use is run by Anthropic.
      toolCallCount: content.filter((block) => stringAt(block, 'type') === 'tool_use').length,
      attributes: tier === undefined ? undefined : { [own.ATTR_ANTHROPIC_RESPONSE_SERVICE_TIER]: tier },
    };
  }

  #start(message: unknown): void {
    this.#id = stringAt(message, 'id');
    this.#model = stringAt(message, 'model');
  }

  /** What is said of the output at the start are placeholders. */
  #begin({ output_tokens: _, output_tokens_details: details, ...usage }: JsonObject): void {
    this.#usage = usage;
    this.#outputDetails = details;
  }

  #open(index: number, opened: JsonObject): void {
    // A fallback block names the model that writes the rest.
    if (opened.type === 'fallback') this.#model = stringAt(objectAt(opened, 'to'), 'model') ?? this.#model;
    if (this.#blocks.size >= MAX_BLOCKS) return;
    this.#blocks.set(index, {
      opened,
      text: new TextBuffer(new StreamRoom()),
      input: new TextBuffer(new StreamRoom()),
    });
  }

  #extend(index: number, delta: unknown): void {
    const block = this.#blocks.get(index);
    block?.text.push(stringAt(delta, 'text') ?? stringAt(delta, 'thinking'));
    block?.input.push(stringAt(delta, 'partial_json'));
  }

  /** The counts of `message_delta` are totals, and null where they do not apply. */
  #addTotals(totals: JsonObject | undefined): void {
    this.#usage ??= {};
    this.#usage.output_tokens_details ??= this.#outputDetails;
    for (const [name, count] of Object.entries(totals ?? {})) {
      if (count !== null && count !== undefined) this.#usage[name] = count;
    }
  }
}

function blockOf({ opened, text, input }: StreamedBlock): JsonObject {
  if (opened.type === 'text') return { ...opened, text: text.toString() };
  if (opened.type === 'thinking') return { ...opened, thinking: text.toString() };
  return input.isEmpty ? opened : { ...opened, input: parseOrKeep(input.toString()) };
}
