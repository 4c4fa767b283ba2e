import type { ModelTool } from './providers/index.ts';

/** Name of the tool by which a model reads the middle of a result that was cut. */
export const READ_RESULT_TOOL = 'read_tool_result';

/** Offered to the model once a result was cut. */
export const readResultTool: ModelTool = {
  name: READ_RESULT_TOOL,
  description: 'Reads a part of an earlier tool result that was too long to show. Offsets count characters.',
  parameters: {
    type: 'object',
    properties: {
      reference: { type: 'string', description: 'The reference given where the result was cut' },
      offset: { type: 'integer', minimum: 0, description: 'Where to begin' },
      length: { type: 'integer', minimum: 1, description: 'How many characters to read' },
    },
    required: ['reference'],
  },
};

/** Share of a cut result that shows its beginning; the rest shows its end. */
const HEAD_SHARE = 0.7;
/** Most characters of cut results kept for reading back, over a run. */
const MAX_STORED_CHARS = 32 * 1024 * 1024;

/**
 * Keeps what a model is shown of one tool result within bounds: the head, the tail, and a reference by which the
 * model can read any part of the rest. The oldest stored results go first when the store is full.
 */
export class ResultCap {
  readonly #maxChars: number;
  readonly #maxStored: number;
  readonly #stored = new Map<string, string>();
  #storedChars = 0;
  #next = 1;

  /** @param maxChars most characters of one result that a model is shown. */
  constructor(maxChars: number, maxStored: number = MAX_STORED_CHARS) {
    this.#maxChars = Math.max(200, maxChars);
    this.#maxStored = maxStored;
  }

  /** Whether any result was cut, so that reading back makes sense. */
  get hasStored(): boolean {
    return this.#stored.size > 0;
  }

  /** @returns the text to show, and the reference when it was cut. */
  apply(text: string): { readonly text: string; readonly reference?: string | undefined } {
    if (text.length <= this.#maxChars) return { text };
    const reference = this.#store(text);
    const head = wholeCharacters(text, 0, Math.floor(this.#maxChars * HEAD_SHARE));
    const tail = wholeCharacters(text, text.length - (this.#maxChars - head.length), text.length);
    const cut = text.length - head.length - tail.length;
    const how =
      reference === undefined
        ? 'too large to be kept'
        : `read it with ${READ_RESULT_TOOL}, reference "${reference}", from offset ${head.length}`;
    return {
      text: `${head}\n\n[${cut} of ${text.length} characters left out; ${how}]\n\n${tail}`,
      reference,
    };
  }

  #store(text: string): string | undefined {
    if (text.length > this.#maxStored) return undefined;
    for (const [reference, old] of this.#stored) {
      if (this.#storedChars + text.length <= this.#maxStored) break;
      this.#stored.delete(reference);
      this.#storedChars -= old.length;
    }
    const reference = `result_${this.#next++}`;
    this.#stored.set(reference, text);
    this.#storedChars += text.length;
    return reference;
  }

  /** A part of a stored result, at most as long as the cap. Nothing for a reference that is unknown or gone. */
  read(reference: string, offset: number, length: number = this.#maxChars): string | undefined {
    const text = this.#stored.get(reference);
    if (text === undefined) return undefined;
    const start = Math.min(Math.max(0, Math.trunc(offset) || 0), text.length);
    const room = Math.min(Math.max(1, Math.trunc(length) || this.#maxChars), this.#maxChars);
    const part = wholeCharacters(text, start, start + room);
    const end = start + part.length;
    return end < text.length ? `${part}\n\n[continues at offset ${end} of ${text.length}]` : part;
  }
}

/** A slice that does not cut a character of two UTF-16 units in half, which JSON could not carry. */
function wholeCharacters(text: string, start: number, end: number): string {
  const from = start > 0 && isLowSurrogate(text.charCodeAt(start)) ? start - 1 : start;
  const to = end < text.length && isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end;
  return text.slice(from, Math.max(from, to));
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
