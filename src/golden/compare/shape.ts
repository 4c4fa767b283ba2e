/**
 * The shape of JSON values: which fields are there and of which types, whatever the values are.
 *
 * Two things that providers do are taken into account: elements of a list that carry a `type` (content blocks, stream
 * events) have a shape per type, and the words a reader switches on (`object`, `type`, `role`) are part of the shape.
 */
export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'object' | 'array';

export interface Shape {
  readonly types: ReadonlySet<JsonType>;
  readonly fields: ReadonlyMap<string, Shape>;
  /** Shapes of the elements of a list, by their `type`; under the empty name where they have none. */
  readonly items: ReadonlyMap<string, Shape>;
  /** The words seen, for fields whose value tells a reader what it has before it. */
  readonly words: ReadonlySet<string>;
}

interface Draft {
  readonly types: Set<JsonType>;
  readonly fields: Map<string, Draft>;
  readonly items: Map<string, Draft>;
  readonly words: Set<string>;
}

/** What lies deeper than any provider nests is not looked at. */
const MAX_DEPTH = 64;
const TELLING_FIELDS: ReadonlySet<string> = new Set(['object', 'type', 'role']);
/** Fields that hold a tool's arguments, whose form is the tool's and no provider's: `tool_use.input`, `functionCall.args`. */
const ARGUMENT_FIELDS: ReadonlySet<string> = new Set(['input', 'args']);

/** The shape that all the values have together. */
export function shapeOf(...values: readonly unknown[]): Shape {
  const draft = newDraft();
  for (const value of values) add(draft, value, 0);
  return draft;
}

function newDraft(): Draft {
  return { types: new Set(), fields: new Map(), items: new Map(), words: new Set() };
}

function add(draft: Draft, value: unknown, depth: number): void {
  const type = typeOf(value);
  draft.types.add(type);
  if (depth >= MAX_DEPTH) return;
  if (type === 'array') {
    for (const item of value as readonly unknown[]) add(slot(draft.items, typeName(item)), item, depth + 1);
  } else if (type === 'object') {
    addObject(draft, value as Readonly<Record<string, unknown>>, depth);
  }
}

function addObject(draft: Draft, value: Readonly<Record<string, unknown>>, depth: number): void {
  const isCall = typeof value.name === 'string';
  for (const [name, inner] of Object.entries(value)) {
    const field = slot(draft.fields, name);
    if (isCall && ARGUMENT_FIELDS.has(name)) {
      field.types.add(typeOf(inner));
      continue;
    }
    if (TELLING_FIELDS.has(name) && typeof inner === 'string') field.words.add(inner);
    add(field, inner, depth + 1);
  }
}

function slot(drafts: Map<string, Draft>, name: string): Draft {
  const known = drafts.get(name);
  if (known !== undefined) return known;
  const draft = newDraft();
  drafts.set(name, draft);
  return draft;
}

function typeName(item: unknown): string {
  const type = typeOf(item) === 'object' ? (item as Readonly<Record<string, unknown>>).type : undefined;
  return typeof type === 'string' ? type : '';
}

/** The JSON type of a value that was parsed from JSON. */
export function typeOf(value: unknown): JsonType {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' ? type : 'object';
}
