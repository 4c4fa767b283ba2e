import { isObject, type JsonObject, numberAt, objectAt, readObject, stringAt } from '../../json/index.ts';
import { type AnswerDelta, type AnswerStream, StreamRoom, TextBuffer } from '../contract/index.ts';

/** Content blocks kept of one message. */
const MAX_BLOCKS = 4_096;

type OnDelta = ((delta: AnswerDelta) => void) | undefined;

/** Assembles the events of `ConverseStream`, each an object of one field, into the output of `Converse`. */
export class ConverseStream implements AnswerStream {
  readonly #room = new StreamRoom();
  readonly #blocks = new Map<number, StreamedBlock>();
  #stopReason: unknown;
  #metadata: JsonObject = {};

  push(event: unknown, onDelta?: OnDelta): void {
    if (!isObject(event)) return;
    const { contentBlockStart, contentBlockDelta, messageStop, metadata } = event;
    const at = readObject(contentBlockStart ?? contentBlockDelta);
    if (isObject(contentBlockStart)) this.#block(at)?.open(readObject(at.start));
    if (isObject(contentBlockDelta)) this.#block(at)?.push(readObject(at.delta), onDelta);
    if (isObject(messageStop)) this.#stopReason = messageStop.stopReason;
    if (isObject(metadata)) this.#metadata = { ...this.#metadata, ...metadata };
  }

  #block(event: JsonObject): StreamedBlock | undefined {
    const index = numberAt(event, 'contentBlockIndex') ?? 0;
    const known = this.#blocks.get(index);
    if (known !== undefined || this.#blocks.size >= MAX_BLOCKS) return known;
    const made = new StreamedBlock(this.#room);
    this.#blocks.set(index, made);
    return made;
  }

  get isComplete(): boolean {
    return this.#stopReason !== undefined;
  }

  whole(): JsonObject {
    const content = [...this.#blocks]
      .sort(([left], [right]) => left - right)
      .flatMap(([, block]) => block.finish());
    return {
      ...this.#metadata,
      output: { message: { role: 'assistant', content } },
      stopReason: this.#stopReason,
    };
  }
}

class StreamedBlock {
  readonly #text: TextBuffer;
  readonly #reasoning: TextBuffer;
  readonly #input: TextBuffer;
  #toolUse: JsonObject | undefined;

  constructor(room: StreamRoom) {
    this.#text = new TextBuffer(room);
    this.#reasoning = new TextBuffer(room);
    this.#input = new TextBuffer(room);
  }

  open(start: JsonObject): void {
    this.#toolUse = objectAt(start, 'toolUse');
  }

  push(delta: JsonObject, onDelta: OnDelta): void {
    const text = this.#text.push(delta.text);
    if (text !== '') onDelta?.({ type: 'text', text });
    const reasoning = this.#reasoning.push(stringAt(delta.reasoningContent, 'text'));
    if (reasoning !== '') onDelta?.({ type: 'reasoning', text: reasoning });
    this.#input.push(stringAt(delta.toolUse, 'input'));
  }

  finish(): JsonObject[] {
    if (this.#toolUse !== undefined) {
      // What the model wrote where that is not JSON; the reader tells.
      return [{ toolUse: { ...this.#toolUse, input: this.#input.isEmpty ? {} : this.#input.toString() } }];
    }
    const reasoning = { reasoningContent: { reasoningText: { text: this.#reasoning.toString() } } };
    return [
      ...(this.#reasoning.isEmpty ? [] : [reasoning]),
      ...(this.#text.isEmpty ? [] : [{ text: this.#text.toString() }]),
    ];
  }
}
