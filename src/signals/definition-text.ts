import { isObject, type JsonObject } from '../json/index.ts';

/** A tool definition, whatever the form of the provider it is offered to. */
export interface ToolDefinitionView {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly schema: unknown;
}

/** How a provider shows a definition to its model. */
export type DefinitionForm = 'typescript' | 'json';

/** What goes beyond is not written: definitions come from servers. */
const MAX_CHARACTERS = 65_536;
const MAX_DEPTH = 32;

/**
 * The text of a definition as a model reads it.
 *
 * `typescript`: as OpenAI's models do, in the form published with gpt-oss (the Harmony format: "namespace functions",
 * descriptions as comments). `json`: the definition as it is sent. At most 65,536 characters.
 */
export function definitionText(tool: ToolDefinitionView, form: DefinitionForm): string {
  const text = new BoundedText();
  if (form === 'json') writeJson(text, { ...tool }, 0);
  else writeType(text, tool);
  return text.toString();
}

class BoundedText {
  #text = '';

  get isFull(): boolean {
    return this.#text.length >= MAX_CHARACTERS;
  }

  add(part: string): void {
    if (!this.isFull) this.#text += part.slice(0, MAX_CHARACTERS - this.#text.length);
  }

  toString(): string {
    return this.#text;
  }
}

function writeType(text: BoundedText, { name, description, schema }: ToolDefinitionView): void {
  writeComment(text, description);
  text.add(`type ${name} = (`);
  if (hasMembers(schema)) {
    text.add('_: ');
    writeMembers(text, schema, 0);
  }
  text.add(') => any;\n\n');
}

function writeComment(text: BoundedText, description: unknown): void {
  if (typeof description !== 'string') return;
  for (const line of description.slice(0, MAX_CHARACTERS).split('\n')) {
    if (text.isFull) return;
    const trimmed = line.trim();
    if (trimmed !== '') text.add(`// ${trimmed}\n`);
  }
}

function hasMembers(schema: unknown): schema is JsonObject & { readonly properties: JsonObject } {
  if (!isObject(schema) || !isObject(schema.properties)) return false;
  for (const _ in schema.properties) return true;
  return false;
}

function writeMembers(text: BoundedText, schema: JsonObject, depth: number): void {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  text.add('{\n');
  for (const [name, member] of Object.entries(schema.properties as JsonObject)) {
    if (text.isFull) return;
    if (isObject(member)) writeComment(text, member.description);
    text.add(`${name}${required.has(name) ? '' : '?'}: `);
    toWriteType(text, member, depth + 1);
    text.add(',');
    if (isObject(member) && member.default !== undefined) {
      text.add(' // default: ');
      writeJson(text, member.default, depth + 1);
    }
    text.add('\n');
  }
  text.add('}');
}

function toWriteType(text: BoundedText, schema: unknown, depth: number): void {
  if (!isObject(schema) || depth > MAX_DEPTH || text.isFull) {
    text.add('any');
    return;
  }
  const choices = schema.anyOf ?? schema.oneOf ?? schema.type;
  if (Array.isArray(schema.enum)) {
    writeUnion(text, schema.enum, (value) => writeJson(text, value, depth));
  } else if (Array.isArray(choices)) {
    const rest = (choice: unknown) => (typeof choice === 'string' ? { ...schema, type: choice } : choice);
    writeUnion(text, choices, (choice) => toWriteType(text, rest(choice), depth + 1));
  } else if (hasMembers(schema)) {
    writeMembers(text, schema, depth);
  } else if (schema.type === 'array') {
    toWriteType(text, schema.items, depth + 1);
    text.add('[]');
  } else {
    const type = typeof schema.type === 'string' ? schema.type.toLowerCase() : 'any';
    text.add(type === 'integer' ? 'number' : type);
  }
}

function writeUnion(text: BoundedText, values: readonly unknown[], write: (value: unknown) => void): void {
  let isFirst = true;
  for (const value of values) {
    if (text.isFull) return;
    if (!isFirst) text.add(' | ');
    isFirst = false;
    write(value);
  }
}

/** As `JSON.stringify`, as far as there is room; what JSON cannot hold is left out. */
function writeJson(text: BoundedText, value: unknown, depth: number): void {
  if (typeof value === 'string') {
    text.add(JSON.stringify(value.slice(0, MAX_CHARACTERS)));
  } else if (typeof value === 'number' || typeof value === 'boolean') {
    text.add(String(value));
  } else if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) {
    text.add('null');
  } else {
    writeContainer(text, value, depth);
  }
}

function writeContainer(text: BoundedText, value: object, depth: number): void {
  const isList = Array.isArray(value);
  text.add(isList ? '[' : '{');
  let isFirst = true;
  for (const [key, member] of Object.entries(value)) {
    if (text.isFull) return;
    if (member === undefined || typeof member === 'function') continue;
    if (!isFirst) text.add(',');
    isFirst = false;
    if (!isList) text.add(`${JSON.stringify(key)}:`);
    writeJson(text, member, depth + 1);
  }
  text.add(isList ? ']' : '}');
}
