import {
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  parseExactJson,
  readObject,
  stringAt,
  toText,
} from '../../json/index.ts';
import { type AnswerDelta, type AnswerStream, StreamRoom, TextBuffer } from '../contract/index.ts';

/** Content blocks kept of one message, and citations kept of one block. */
const MAX_ITEMS = 4_096;

type OnDelta = ((delta: AnswerDelta) => void) | undefined;

/** Assembles the events of a stream into the `message` that a call without streaming would have given. */
export class MessageStream implements AnswerStream {
  readonly #room = new StreamRoom();
  readonly #blocks = new Map<number, StreamedBlock>();
  #message: Record<string, unknown> | undefined;
  /** What `message_start` says of the output are placeholders; the details hold until `message_delta` replaces them. */
  #outputDetails: unknown;
  #error: JsonObject | undefined;
  #stopped = false;

  push(event: unknown, onDelta?: OnDelta): void {
    switch (stringAt(event, 'type')) {
      case 'message_start':
        this.#start(objectAt(event, 'message') ?? {});
        break;
      case 'content_block_start':
        this.#open(numberAt(event, 'index') ?? this.#blocks.size, objectAt(event, 'content_block') ?? {});
        break;
      case 'content_block_delta':
        this.#blocks.get(numberAt(event, 'index') ?? 0)?.push(readObject(objectAt(event, 'delta')), onDelta);
        break;
      case 'message_delta':
        this.#end(objectAt(event, 'delta') ?? {}, objectAt(event, 'usage'));
        break;
      case 'message_stop':
        this.#stopped = true;
        break;
      case 'error':
        this.#error = objectAt(event, 'error');
        break;
    }
  }

  get isComplete(): boolean {
    return this.#stopped && this.#message !== undefined;
  }

  whole(): JsonObject {
    const content = [...this.#blocks]
      .sort(([left], [right]) => left - right)
      .map(([, block]) => block.finish());
    const error = this.#error === undefined ? {} : { error: this.#error };
    return { ...this.#message, content, ...error };
  }

  #start({ usage, ...message }: JsonObject): void {
    const { output_tokens: _, output_tokens_details: details, ...input } = readObject(usage);
    this.#outputDetails = details;
    this.#message = { ...message, usage: input };
  }

  #open(index: number, opened: JsonObject): void {
    this.#message ??= {};
    // A fallback block names the model that writes the rest.
    const other = opened.type === 'fallback' ? stringAt(opened.to, 'model') : undefined;
    if (other !== undefined) this.#message.model = other;
    if (this.#blocks.size < MAX_ITEMS) this.#blocks.set(index, new StreamedBlock(opened, this.#room));
  }

  /** Counts are running totals that replace those of `message_start`; null ones do not apply. */
  #end(delta: JsonObject, totals: JsonObject | undefined): void {
    this.#message ??= {};
    this.#message.stop_reason = delta.stop_reason ?? this.#message.stop_reason;
    this.#message.stop_sequence = delta.stop_sequence ?? this.#message.stop_sequence;
    const usage: Record<string, unknown> = {
      output_tokens_details: this.#outputDetails,
      ...readObject(this.#message.usage),
    };
    for (const [name, count] of Object.entries(totals ?? {})) {
      if (count !== null && count !== undefined) usage[name] = count;
    }
    this.#message.usage = usage;
  }
}

class StreamedBlock {
  readonly #opened: JsonObject;
  readonly #text: TextBuffer;
  readonly #signature: TextBuffer;
  readonly #json: TextBuffer;
  readonly #citations: unknown[] = [];

  constructor(opened: JsonObject, room: StreamRoom) {
    this.#opened = opened;
    this.#text = new TextBuffer(room);
    this.#signature = new TextBuffer(room);
    this.#json = new TextBuffer(room);
  }

  push(delta: JsonObject, onDelta: OnDelta): void {
    switch (delta.type) {
      case 'text_delta':
        this.#say('text', delta.text, onDelta);
        break;
      case 'thinking_delta':
        this.#say('reasoning', delta.thinking, onDelta);
        break;
      case 'signature_delta':
        this.#signature.push(delta.signature);
        break;
      case 'input_json_delta':
        this.#json.push(delta.partial_json);
        break;
      case 'citations_delta':
        if (this.#citations.length < MAX_ITEMS) this.#citations.push(delta.citation);
        break;
    }
  }

  #say(type: AnswerDelta['type'], piece: unknown, onDelta: OnDelta): void {
    const text = this.#text.push(piece);
    if (text !== '') onDelta?.({ type, text });
  }

  finish(): JsonObject {
    const opened = this.#opened;
    switch (opened.type) {
      case 'text':
        return {
          ...opened,
          text: (toText(opened.text) ?? '') + this.#text,
          ...(this.#citations.length === 0 ? {} : { citations: this.#citations }),
        };
      case 'thinking':
        return {
          ...opened,
          thinking: (toText(opened.thinking) ?? '') + this.#text,
          signature: (toText(opened.signature) ?? '') + this.#signature,
        };
      default:
        return this.#json.isEmpty ? opened : { ...opened, input: this.#input() };
    }
  }

  /** The text the model wrote where that is not JSON; a block that goes back to Anthropic needs an object. */
  #input(): unknown {
    const input = argumentsIn(this.#json.toString());
    return this.#opened.type === 'tool_use' || isObject(input) ? input : {};
  }
}

function argumentsIn(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}
