import {
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  readList,
  readObject,
  toText,
} from '../../json/index.ts';
import { type AnswerDelta, type AnswerStream, StreamRoom, TextBuffer } from '../contract/index.ts';
import { StreamedCall } from './streamed-call.ts';

/** Parts kept of one candidate. */
const MAX_PARTS = 4_096;
/** More candidates than the API gives are not kept. */
const MAX_CANDIDATES = 64;

type OnDelta = ((delta: AnswerDelta) => void) | undefined;

/** Assembles the chunks of a stream, each of which is a `GenerateContentResponse`, into one. */
export class ContentStream implements AnswerStream {
  readonly #room = new StreamRoom();
  readonly #candidates = new Map<number, StreamedCandidate>();
  #response: Record<string, unknown> = {};
  /** Counts are running totals; a later chunk replaces those it names. */
  #usage: Record<string, unknown> | undefined;

  push(chunk: unknown, onDelta?: OnDelta): void {
    if (!isObject(chunk)) return;
    for (const field of ['responseId', 'modelVersion', 'promptFeedback', 'error']) {
      if (chunk[field] !== undefined) this.#response[field] ??= chunk[field];
    }
    for (const [name, count] of Object.entries(objectAt(chunk, 'usageMetadata') ?? {})) {
      this.#usage ??= {};
      if (count !== null && count !== undefined) this.#usage[name] = count;
    }
    for (const [position, candidate] of readList(chunk.candidates).entries()) {
      if (!isObject(candidate)) continue;
      const index = numberAt(candidate, 'index') ?? position;
      this.#candidate(index)?.push(candidate, index === 0 ? onDelta : undefined);
    }
  }

  #candidate(index: number): StreamedCandidate | undefined {
    const known = this.#candidates.get(index);
    if (known !== undefined || this.#candidates.size >= MAX_CANDIDATES) return known;
    const made = new StreamedCandidate(this.#room);
    this.#candidates.set(index, made);
    return made;
  }

  get isComplete(): boolean {
    const { promptFeedback } = this.#response;
    if (toText(readObject(promptFeedback).blockReason) !== undefined) return true;
    const candidates = [...this.#candidates.values()];
    return candidates.length > 0 && candidates.every(({ isFinished }) => isFinished);
  }

  whole(): JsonObject {
    const candidates = [...this.#candidates]
      .sort(([left], [right]) => left - right)
      .map(([, candidate]) => candidate.finish());
    return {
      ...this.#response,
      ...(this.#usage === undefined ? {} : { usageMetadata: this.#usage }),
      ...(candidates.length === 0 ? {} : { candidates }),
    };
  }
}

/** A run of text of one kind, a call, or any other part. */
type StreamedPart =
  | { readonly type: 'text'; readonly part: JsonObject; readonly text: TextBuffer }
  | { readonly type: 'call'; readonly call: StreamedCall }
  | { readonly type: 'other'; readonly part: JsonObject };

class StreamedCandidate {
  readonly #room: StreamRoom;
  readonly #parts: StreamedPart[] = [];
  #candidate: JsonObject = {};
  #call: StreamedCall | undefined;

  constructor(room: StreamRoom) {
    this.#room = room;
  }

  push({ content, ...candidate }: JsonObject, onDelta: OnDelta): void {
    const finishReason = candidate.finishReason ?? this.#candidate.finishReason;
    this.#candidate = { ...this.#candidate, ...candidate, finishReason };
    for (const part of readList(readObject(content).parts)) if (isObject(part)) this.#push(part, onDelta);
  }

  get isFinished(): boolean {
    return toText(this.#candidate.finishReason) !== undefined;
  }

  #push(part: JsonObject, onDelta: OnDelta): void {
    const call = objectAt(part, 'functionCall');
    if (call !== undefined && !toText(call.name) && this.#call !== undefined) {
      this.#call.push(part);
      return;
    }
    const text = toText(part.text);
    const last = this.#parts.at(-1);
    // A signed part stays as it came: the signature holds for that part alone.
    const isPlain = text !== undefined && part.thoughtSignature === undefined;
    if (isPlain && last?.type === 'text' && last.part.thought === part.thought) {
      this.#say(last.text, part, onDelta);
      return;
    }
    if (this.#parts.length >= MAX_PARTS) return;
    if (isPlain) {
      const buffer = new TextBuffer(this.#room);
      this.#parts.push({ type: 'text', part, text: buffer });
      this.#say(buffer, part, onDelta);
    } else if (call !== undefined && toText(call.name)) {
      this.#call = new StreamedCall(part, this.#room);
      this.#parts.push({ type: 'call', call: this.#call });
    } else {
      this.#parts.push({ type: 'other', part });
      if (text) onDelta?.({ type: deltaType(part), text });
    }
  }

  #say(buffer: TextBuffer, part: JsonObject, onDelta: OnDelta): void {
    const text = buffer.push(part.text);
    if (text !== '') onDelta?.({ type: deltaType(part), text });
  }

  finish(): JsonObject {
    return { ...this.#candidate, content: { role: 'model', parts: this.#parts.map(finishPart) } };
  }
}

function deltaType({ thought }: JsonObject): AnswerDelta['type'] {
  return thought === true ? 'reasoning' : 'text';
}

function finishPart(streamed: StreamedPart): JsonObject {
  switch (streamed.type) {
    case 'text':
      return { ...streamed.part, text: streamed.text.toString() };
    case 'call':
      return streamed.call.part();
    case 'other':
      return streamed.part;
  }
}
