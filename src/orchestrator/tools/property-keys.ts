import { createHash } from 'node:crypto';
import { isObject } from '../../json/index.ts';
import { type AnySchema, mapSubschemas, type Schema, setKey, subschemas } from './json-schema.ts';
import type { ReferencedSchema } from './references.ts';

export interface KeyRule {
  readonly allowed: RegExp;
  /** Turns a name it does not take into one it does, not yet unique. */
  readonly sanitize: (name: string) => string;
  /** Only the tool's arguments themselves, or those of nested objects too. */
  readonly scope: 'root' | 'everywhere';
}

const MAX_KEY = 64;

/** `^[a-zA-Z0-9_.-]{1,64}$`, arguments only (`input_schema.properties: Property keys should match pattern`). */
export const ANTHROPIC_KEYS: KeyRule = {
  allowed: /^[a-zA-Z0-9_.-]{1,64}$/,
  sanitize: (name) => name.replace(/[^a-zA-Z0-9_.-]/g, '_').slice(0, MAX_KEY) || '_',
  scope: 'root',
};

/** Starts with a letter or `_`, then letters, digits, `_`, 64 at most; at every depth. */
export const GEMINI_KEYS: KeyRule = {
  allowed: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
  sanitize: (name) =>
    name
      .replace(/[^a-zA-Z0-9_]/g, '_')
      .replace(/^(?![a-zA-Z_])/, '_')
      .slice(0, MAX_KEY),
  scope: 'everywhere',
};

/** New property names by old ones. A name is renamed consistently throughout a tool's schema. */
export type Renames = ReadonlyMap<string, string>;

/** Renames the properties a provider would refuse, in `properties` and in every list that names them. */
export function renameProperties(
  schema: ReferencedSchema,
  rule: KeyRule,
): { schema: ReferencedSchema; renames: Renames } {
  const names = new Set<string>();
  collectNames(schema.root, rule.scope, names);
  if (rule.scope === 'everywhere')
    for (const each of schema.definitions.values()) collectNames(each, rule.scope, names);
  const renames = chooseNames(names, rule);
  if (renames.size === 0) return { schema, renames };
  const definitions =
    rule.scope === 'root'
      ? schema.definitions
      : new Map([...schema.definitions].map(([name, each]) => [name, rename(each, rule.scope, renames)]));
  return { schema: { root: rename(schema.root, rule.scope, renames) as Schema, definitions }, renames };
}

function collectNames(schema: AnySchema, scope: KeyRule['scope'], names: Set<string>): void {
  if (typeof schema === 'boolean') return;
  if (isObject(schema.properties)) for (const name of Object.keys(schema.properties)) names.add(name);
  for (const name of (schema.required as string[] | undefined) ?? []) names.add(name);
  if (scope === 'everywhere') for (const [, sub] of subschemas(schema)) collectNames(sub, scope, names);
}

function chooseNames(names: ReadonlySet<string>, rule: KeyRule): Renames {
  const refused = [...names].filter((name) => !rule.allowed.test(name)).sort();
  const taken = new Set(names);
  const renames = new Map<string, string>();
  for (const name of refused) {
    let chosen = rule.sanitize(name);
    for (let salt = 0; taken.has(chosen) || !rule.allowed.test(chosen); salt++) {
      const hash = createHash('sha256').update(`${name}\0${salt}`).digest('hex').slice(0, 8);
      chosen = `${rule.sanitize(name).slice(0, MAX_KEY - 9)}_${hash}`;
    }
    taken.add(chosen);
    renames.set(name, chosen);
  }
  return renames;
}

function rename(schema: AnySchema, scope: KeyRule['scope'], renames: Renames): AnySchema {
  if (typeof schema === 'boolean') return schema;
  const out =
    scope === 'everywhere' ? mapSubschemas(schema, (sub) => rename(sub, scope, renames)) : { ...schema };
  if (isObject(out.properties)) {
    const properties: Schema = {};
    for (const [name, sub] of Object.entries(out.properties))
      setKey(properties, renames.get(name) ?? name, sub);
    out.properties = properties;
  }
  for (const keyword of ['required', 'propertyOrdering']) {
    const list = out[keyword];
    if (Array.isArray(list)) out[keyword] = list.map((name: string) => renames.get(name) ?? name);
  }
  return out;
}
