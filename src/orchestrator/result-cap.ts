import type { ImagePart, ModelTool } from './providers/index.ts';

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
/** Base64 characters of one image, about the 5 MB that Anthropic takes. */
const MAX_IMAGE_CHARS = 7_000_000;
/** Images of a run and their base64 characters: every later request holds them all. */
const MAX_IMAGES = 100;
const MAX_IMAGES_CHARS = 16_000_000;
/** Characters of results that the chain of a run holds whole. */
const MAX_CHAIN_CHARS = 256 * 1024 * 1024;

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
  #images = 0;
  #imageChars = 0;
  #chainChars = 0;

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

  /** The images of a result that the model is shown, and a note about those that are too large or too many. */
  fitting(images: readonly ImagePart[]): { readonly images: readonly ImagePart[]; readonly note: string } {
    const fitting = images.filter(({ data }) => {
      if (data.length > MAX_IMAGE_CHARS || this.#images >= MAX_IMAGES) return false;
      if (this.#imageChars + data.length > MAX_IMAGES_CHARS) return false;
      this.#images += 1;
      this.#imageChars += data.length;
      return true;
    });
    const left = images.length - fitting.length;
    return { images: fitting, note: left === 0 ? '' : `\n[images left out, too large or too many: ${left}]` };
  }

  /** Whether the chain may hold a result of so many characters; a run must not use up the memory of its host. */
  isKept(chars: number): boolean {
    this.#chainChars += chars;
    return this.#chainChars <= MAX_CHAIN_CHARS;
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
