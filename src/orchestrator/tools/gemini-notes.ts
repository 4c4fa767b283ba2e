const MAX_NOTE_CHARS = 200;

/** Keywords that say nothing about what is accepted. */
const ANNOTATIONS = new Set(['default', 'examples', 'example', 'deprecated']);

/** Says nothing a model could use, in no schema language. */
const SILENT = new Set([
  '$comment',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
]);

const WORDS: Readonly<Record<string, (value: string) => string>> = {
  default: (value) => `default: ${value}`,
  examples: (value) => `examples: ${value}`,
  example: (value) => `example: ${value}`,
  deprecated: () => 'deprecated',
  pattern: (value) => `matches the pattern ${value}`,
  minLength: (value) => `at least ${value} characters`,
  maxLength: (value) => `at most ${value} characters`,
  exclusiveMinimum: (value) => `greater than ${value}`,
  exclusiveMaximum: (value) => `less than ${value}`,
  multipleOf: (value) => `a multiple of ${value}`,
  uniqueItems: () => 'no two items alike',
  minProperties: (value) => `at least ${value} entries`,
  maxProperties: (value) => `at most ${value} entries`,
  enum: (value) => `one of ${value}`,
};

const CONSTRAINTS = new Set([
  ...Object.keys(WORDS),
  'not',
  'if',
  'then',
  'else',
  'contains',
  'minContains',
  'maxContains',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Collects in words what Gemini's schema language cannot say, for the end of a description. */
export class GeminiNotes {
  readonly #notes: string[] = [];

  /** @returns True when the keyword was a constraint. */
  add(keyword: string, value: unknown): boolean {
    if (SILENT.has(keyword) || value === undefined) return false;
    if (keyword === 'uniqueItems' && value !== true) return false;
    const json = typeof value === 'string' && keyword === 'pattern' ? value : (JSON.stringify(value) ?? '');
    const text = json.length > MAX_NOTE_CHARS ? `${json.slice(0, MAX_NOTE_CHARS - 3)}...` : json;
    const words = WORDS[keyword];
    if (words !== undefined) this.#notes.push(words(text));
    else if (CONSTRAINTS.has(keyword)) this.#notes.push(`${keyword}: ${text}`);
    return CONSTRAINTS.has(keyword) && !ANNOTATIONS.has(keyword);
  }

  appendTo(description: string | undefined): string | undefined {
    if (this.#notes.length === 0) return description;
    const notes = `(${this.#notes.join('; ')})`;
    return description ? `${description} ${notes}` : notes;
  }
}
