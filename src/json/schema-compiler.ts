/**
 * Compiles JSON Schemas from servers so that they cannot be used against the gate.
 *
 * Every schema gets its own Ajv: two schemas with one `$id` never share a validator, and `$ref` resolves only within
 * the schema. Its size is bounded, its patterns run in linear time (linear-regexp.ts), `$async` is refused (an async
 * validator returns a promise, which is truthy), and each `$ref` followed while validating is counted, because a few
 * nested references can ask for exponential work.
 */

import { createAjv, type SchemaDialect } from './ajv.ts';
import { canonicalJson, sha256Hex } from './canonical-json.ts';
import { type RefBudget, runCheck, SchemaRefusedError, type SchemaVerdict } from './schema-check.ts';

export interface CompiledSchema {
  /** SHA-256 of the canonical schema. */
  readonly hash: string;
  check(value: unknown): SchemaVerdict;
}

/** Bounds on one schema. */
const MAX_SCHEMA_BYTES = 262_144;
const MAX_SCHEMA_DEPTH = 64;
/** Size of the cache of compiled schemas; the oldest is evicted first. */
const MAX_CACHED = 4_096;

const DIALECTS: ReadonlyMap<string, SchemaDialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
  ['http://json-schema.org/draft-06/schema', 'draft-07'],
]);

const cache = new Map<string, CompiledSchema | SchemaRefusedError>();

/** Validators compiled since start-up: one per definition, not per call. */
export const compileStats = { compiled: 0 };

export interface CompileOptions {
  /** Further schemas by absolute URI that `$ref` may reach. @defaultValue none */
  readonly remotes?: ReadonlyMap<string, unknown> | undefined;
  /** Whether `format` is checked; without it formats are annotations, as JSON Schema 2020-12 has it. @defaultValue true */
  readonly checksFormats?: boolean | undefined;
}

/**
 * Compiles a schema, or returns the cached validator of an equal one.
 *
 * @throws SchemaRefusedError when the schema is too large, of an unknown dialect, invalid, or cannot be checked safely.
 */
export function compileSchema(schema: unknown, options: CompileOptions = {}): CompiledSchema {
  const { remotes, checksFormats = true } = options;
  let hash: string;
  try {
    hash = sha256Hex(canonicalJson(schema));
  } catch (cause) {
    throw new SchemaRefusedError('The schema is not JSON, or nested too deeply', { cause });
  }
  const key = checksFormats ? hash : `${hash} without formats`;
  const known = remotes === undefined ? cache.get(key) : undefined;
  if (known instanceof SchemaRefusedError) throw known;
  if (known !== undefined) return known;
  let outcome: CompiledSchema | SchemaRefusedError;
  try {
    outcome = compile(schema, hash, remotes, checksFormats);
  } catch (cause) {
    outcome =
      cause instanceof SchemaRefusedError
        ? cause
        : new SchemaRefusedError(`The schema does not compile: ${(cause as Error).message}`, { cause });
  }
  if (remotes === undefined) remember(key, outcome);
  if (outcome instanceof SchemaRefusedError) throw outcome;
  return outcome;
}

function remember(key: string, outcome: CompiledSchema | SchemaRefusedError): void {
  if (cache.size >= MAX_CACHED) {
    const oldest = cache.keys().next();
    if (oldest.done !== true) cache.delete(oldest.value);
  }
  cache.set(key, outcome);
}

function compile(
  schema: unknown,
  hash: string,
  remotes: ReadonlyMap<string, unknown> | undefined,
  checksFormats: boolean,
): CompiledSchema {
  if (
    typeof schema !== 'boolean' &&
    (typeof schema !== 'object' || schema === null || Array.isArray(schema))
  ) {
    throw new SchemaRefusedError('A schema is an object or a boolean');
  }
  const size = Buffer.byteLength(JSON.stringify(schema));
  if (size > MAX_SCHEMA_BYTES) {
    throw new SchemaRefusedError(`The schema is ${size} bytes; at most ${MAX_SCHEMA_BYTES} are compiled`);
  }
  refuseHostileParts(schema, 0);
  const budget: RefBudget = { left: 0 };
  const ajv = createAjv(dialectOf(schema), budget, checksFormats);
  for (const [uri, remote] of remotes ?? []) ajv.addSchema(remote as object, uri, false, false);
  const validate = ajv.compile(schema);
  compileStats.compiled += 1;
  return { hash, check: (value) => runCheck(validate, budget, value) };
}

function dialectOf(schema: object | boolean): SchemaDialect {
  const uri = typeof schema === 'object' ? (schema as { $schema?: unknown }).$schema : undefined;
  if (uri === undefined) return '2020-12';
  const dialect = typeof uri === 'string' ? DIALECTS.get(uri.replace(/#$/, '')) : undefined;
  if (dialect === undefined) {
    throw new SchemaRefusedError(
      `The dialect ${JSON.stringify(uri)} is not one of 2020-12, 2019-09, draft-07, draft-06`,
    );
  }
  return dialect;
}

/** Refuses what ajv wrongly accepts, anywhere in the schema. */
function refuseHostileParts(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_SCHEMA_DEPTH) {
    throw new SchemaRefusedError(`The schema is nested more than ${MAX_SCHEMA_DEPTH} levels deep`);
  }
  if (Array.isArray(value)) {
    for (const item of value) refuseHostileParts(item, depth + 1);
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    if (key === '$async' && typeof member === 'boolean') {
      throw new SchemaRefusedError("The schema holds '$async', which JSON Schema does not have");
    }
    refuseHostileParts(member, depth + 1);
  }
}
