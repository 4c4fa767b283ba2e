import { readGeminiUsage } from '../../interaction/index.ts';
import { isObject, type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../json/index.ts';
import {
  type ModelResponse,
  type OutputMessage,
  outputMessage,
  type ResponseReader,
  StreamRoom,
  TextBuffer,
} from '../shared/index.ts';

/** Parts other than text kept of one candidate. */
const MAX_PARTS = 4096;
/** More candidates than the API gives are not kept apart. */
const MAX_CANDIDATES = 64;

interface Candidate {
  readonly text: TextBuffer;
  readonly thought: TextBuffer;
  /** Function calls and whatever else is neither text nor thought. */
  readonly parts: JsonObject[];
  finishReason: string | undefined;
}

/** Reads `GenerateContentResponse`s: one, or the chunks of a stream, each of which is one. */
export class ContentReader implements ResponseReader {
  #id: string | undefined;
  #model: string | undefined;
  #blockReason: string | undefined;
  /** Counts are running totals; a later chunk replaces what it names. */
  #usage: JsonObject | undefined;
  readonly #candidates = new Map<number, Candidate>();

  whole(value: unknown): void {
    this.chunk(value);
  }

  chunk(value: unknown): void {
    this.#id ??= stringAt(value, 'responseId');
    this.#model ??= stringAt(value, 'modelVersion');
    this.#blockReason ??= stringAt(objectAt(value, 'promptFeedback'), 'blockReason');
    const usage = objectAt(value, 'usageMetadata');
    if (usage !== undefined) this.#usage = { ...this.#usage, ...usage };
    for (const [position, candidate] of listAt(value, 'candidates').entries()) {
      this.#add(numberAt(candidate, 'index') ?? position, candidate);
    }
  }

  result(): ModelResponse {
    const candidates = [...this.#candidates].sort(([a], [b]) => a - b).map(([, candidate]) => candidate);
    const reasons = candidates.map(({ finishReason }) => finishReason);
    // A refused prompt has no candidates; why stands beside them.
    if (candidates.length === 0) reasons.push(this.#blockReason);
    return {
      id: this.#id,
      model: this.#model,
      finishReasons: reasons.filter((reason) => reason !== undefined),
      usage: readGeminiUsage(this.#usage),
      messages: () => candidates.map(messageOf),
      toolCallCount: candidates.flatMap(({ parts }) => parts).filter(isFunctionCall).length,
    };
  }

  #add(index: number, candidate: unknown): void {
    let slot = this.#candidates.get(index);
    if (slot === undefined) {
      slot = {
        text: new TextBuffer(new StreamRoom()),
        thought: new TextBuffer(new StreamRoom()),
        parts: [],
        finishReason: undefined,
      };
      if (this.#candidates.size < MAX_CANDIDATES) this.#candidates.set(index, slot);
    }
    slot.finishReason = stringAt(candidate, 'finishReason') ?? slot.finishReason;
    for (const part of listAt(objectAt(candidate, 'content'), 'parts')) {
      const text = stringAt(part, 'text');
      if (text !== undefined) (isObject(part) && part.thought === true ? slot.thought : slot.text).push(text);
      else if (isObject(part) && slot.parts.length < MAX_PARTS) slot.parts.push(part);
    }
  }
}

/** A call whose arguments are streamed comes in several parts; the first one names it. */
function isFunctionCall(part: JsonObject): boolean {
  return stringAt(objectAt(part, 'functionCall'), 'name') !== undefined;
}

function messageOf({ text, thought, parts, finishReason }: Candidate): OutputMessage {
  const written: JsonObject[] = [];
  if (!thought.isEmpty) written.push({ text: thought.toString(), thought: true });
  if (!text.isEmpty) written.push({ text: text.toString() });
  return outputMessage([{ role: 'model', parts: [...written, ...parts] }], finishReason);
}
