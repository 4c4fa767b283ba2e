/**
 * JSON Schemas of servers, compiled so that they cannot be turned against the gate.
 *
 * Every schema gets its own Ajv: two schemas with one `$id` never share a validator, and `$ref` reaches nothing but the
 * schema itself. Its size is bounded, its patterns run in linear time (linear-regexp.ts), `$async` is refused (an async
 * validator returns a promise, which is truthy), and each `$ref` followed while validating is counted, because a few
 * nested references can ask for exponential work.
 */
import { createRequire } from 'node:module';
import type { Ajv as AjvInstance, CodeKeywordDefinition, KeywordCxt, ValidateFunction } from 'ajv';
import { canonicalJson, sha256Hex } from '../signals/index.ts';
import { linearRegExp } from './linear-regexp.ts';

/** Why a schema was not compiled. */
export class SchemaRefusedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SchemaRefusedError';
  }
}

/** Outcome of one check. `failed` means the check itself could not be finished, which never counts as valid. */
export type SchemaVerdict =
  | { readonly valid: true }
  | { readonly valid: false; readonly failed: boolean; readonly message: string };

export interface CompiledSchema {
  /** SHA-256 of the canonical schema. */
  readonly hash: string;
  check(value: unknown): SchemaVerdict;
}

/** Bounds on one schema. */
const MAX_SCHEMA_BYTES = 262_144;
const MAX_SCHEMA_DEPTH = 64;
/** References followed in one validation before it is given up: about 20 ms of work. */
const MAX_REFS_FOLLOWED = 50_000;
/** Compiled schemas kept; the oldest goes first. */
const MAX_CACHED = 4_096;

type Dialect = '2020-12' | '2019-09' | 'draft-07';

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
  ['http://json-schema.org/draft-06/schema', 'draft-07'],
]);

const AJV_MODULES: Readonly<Record<Dialect, string>> = {
  '2020-12': 'ajv/dist/2020.js',
  '2019-09': 'ajv/dist/2019.js',
  'draft-07': 'ajv',
};

type AjvConstructor = new (options: object) => AjvInstance;

// Loaded when the first schema is compiled: ajv and its formats cost 60 ms that a program without a gate need not pay.
const load = createRequire(import.meta.url);

const cache = new Map<string, CompiledSchema | SchemaRefusedError>();

/** Counts validators compiled since the program started: one per definition, not one per call. */
export const compileStats = { compiled: 0 };

/**
 * Compiles a schema, or gives the validator already compiled for the same schema.
 *
 * @param remotes further schemas by absolute URI that `$ref` may reach; none by default.
 * @throws SchemaRefusedError when the schema is too large, of an unknown dialect, invalid, or cannot be checked safely.
 */
export function compileSchema(schema: unknown, remotes?: ReadonlyMap<string, unknown>): CompiledSchema {
  let hash: string;
  try {
    hash = sha256Hex(canonicalJson(schema));
  } catch (cause) {
    throw new SchemaRefusedError('The schema is not JSON, or nested too deeply', { cause });
  }
  const known = remotes === undefined ? cache.get(hash) : undefined;
  if (known instanceof SchemaRefusedError) throw known;
  if (known !== undefined) return known;
  let outcome: CompiledSchema | SchemaRefusedError;
  try {
    outcome = compile(schema, hash, remotes);
  } catch (cause) {
    outcome =
      cause instanceof SchemaRefusedError
        ? cause
        : new SchemaRefusedError(`The schema does not compile: ${(cause as Error).message}`, { cause });
  }
  if (remotes === undefined) remember(hash, outcome);
  if (outcome instanceof SchemaRefusedError) throw outcome;
  return outcome;
}

function remember(hash: string, outcome: CompiledSchema | SchemaRefusedError): void {
  if (cache.size >= MAX_CACHED) {
    const oldest = cache.keys().next();
    if (oldest.done !== true) cache.delete(oldest.value);
  }
  cache.set(hash, outcome);
}

function compile(
  schema: unknown,
  hash: string,
  remotes: ReadonlyMap<string, unknown> | undefined,
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
  const counter = { left: 0 };
  const ajv = createAjv(dialectOf(schema), counter);
  for (const [uri, remote] of remotes ?? []) ajv.addSchema(remote as object, uri, false, false);
  const validate = ajv.compile(schema);
  compileStats.compiled += 1;
  return { hash, check: (value) => runCheck(validate, counter, value) };
}

function runCheck(validate: ValidateFunction, counter: { left: number }, value: unknown): SchemaVerdict {
  counter.left = MAX_REFS_FOLLOWED;
  try {
    // `=== true`: anything else a validator might return, a promise for one, is not a yes.
    if ((validate(value) as unknown) === true) return { valid: true };
  } catch (error) {
    return { valid: false, failed: true, message: `The check failed: ${(error as Error).message}` };
  }
  const first = validate.errors?.[0];
  const where = first === undefined || first.instancePath === '' ? 'the value' : first.instancePath;
  return { valid: false, failed: false, message: `${where.slice(0, 200)} ${first?.message ?? 'is invalid'}` };
}

function dialectOf(schema: object | boolean): Dialect {
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

/** Refuses what ajv would take and should not, wherever it stands. */
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

function createAjv(dialect: Dialect, counter: { left: number }): AjvInstance {
  const module = load(AJV_MODULES[dialect]) as { default: AjvConstructor };
  const ajv = new module.default({
    strict: false,
    // Without it `{}` satisfies `required: ["toString"]`.
    ownProperties: true,
    // Inlined references multiply code; one function per reference keeps it linear in the schema.
    inlineRefs: false,
    validateFormats: true,
    logger: false,
    validateSchema: false,
    code: { regExp: linearRegExp },
  });
  (load('ajv-formats') as { default: (ajv: AjvInstance) => void }).default(ajv);
  if (dialect === 'draft-07') ajv.addMetaSchema(load('ajv/dist/refs/json-schema-draft-06.json') as object);
  countRefs(ajv, counter);
  return ajv;
}

/**
 * Compiles a schema an operator wrote: Ajv's strict mode, which catches `maxLenght`, and two keywords for addresses.
 * `emailDomainIn: ["example.com"]` takes one address of exactly these domains; `urlHostIn` a http(s) URL of exactly
 * these hosts. Both take only strings; a regular expression such as `[^example.com$]` is how this goes wrong by hand.
 * @throws SchemaRefusedError
 */
export function compileOperatorSchema(schema: object): (value: unknown) => SchemaVerdict {
  const module = load(AJV_MODULES['2020-12']) as { default: AjvConstructor };
  const ajv = new module.default({
    strict: true,
    strictRequired: false,
    strictTypes: false,
    ownProperties: true,
    logger: false,
    code: { regExp: linearRegExp },
  });
  (load('ajv-formats') as { default: (ajv: AjvInstance) => void }).default(ajv);
  const list = { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 };
  for (const [keyword, isIn] of [
    ['emailDomainIn', isEmailIn],
    ['urlHostIn', isUrlIn],
  ] as const) {
    ajv.addKeyword({ keyword, schemaType: 'array', metaSchema: list, errors: false, validate: isIn });
  }
  try {
    const validate = ajv.compile(schema);
    return (value) => runCheck(validate, { left: 0 }, value);
  } catch (cause) {
    throw new SchemaRefusedError((cause as Error).message, { cause });
  }
}

function isEmailIn(domains: readonly string[], value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const match = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9.-]{1,255})$/.exec(value);
  const domain = match?.[1]?.toLowerCase();
  return domain !== undefined && domains.some((allowed) => allowed.toLowerCase() === domain);
}

function isUrlIn(hosts: readonly string[], value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const url = new URL(value);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && hosts.some((allowed) => allowed.toLowerCase() === url.hostname);
}

/** Makes the compiled code of every `$ref` and `$dynamicRef` count itself. */
function countRefs(ajv: AjvInstance, counter: { left: number }): void {
  const tick = (): void => {
    counter.left -= 1;
    if (counter.left < 0) throw new RangeError(`more than ${MAX_REFS_FOLLOWED} references were followed`);
  };
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const rule = ajv.RULES.all[keyword];
    if (typeof rule !== 'object') continue;
    const definition = rule.definition as CodeKeywordDefinition;
    const code = definition.code;
    const counted = (cxt: KeywordCxt, ruleType?: string): void => {
      const { _ } = load('ajv') as typeof import('ajv');
      cxt.gen.code(_`${cxt.gen.scopeValue('func', { ref: tick })}()`);
      code.call(definition, cxt, ruleType);
    };
    (rule as { definition: unknown }).definition = { ...definition, code: counted };
  }
}
