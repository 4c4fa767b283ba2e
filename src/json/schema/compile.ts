/**
 * Compiles JSON Schemas (2020-12 to draft-04) to functions that work within a budget of steps.
 *
 * Schemas and values come from servers, and the work they can ask for together has no bound of its own: nested
 * references are exponential, `uniqueItems` below `allOf` is a product of sizes. So compiling and checking both draw on
 * a {@link StepBudget}; what goes beyond it is refused. Patterns run in linear time, and references stay in the schema.
 */
import { type Steps, takeAll } from '../../base/index.ts';
import { canonicalJson, sha256Hex } from '../canonical-json.ts';
import { type CompileOptions, Compiler } from './compiler.ts';
import type { SchemaWants } from './implied-types.ts';
import { SchemaRefusedError } from './refused.ts';
import { SchemaRun, type Validate } from './run.ts';
import { payForWalk, StepBudget } from './steps.ts';

/** Outcome of one check. `failed` means the check could not be finished, which never counts as valid. */
export type SchemaVerdict =
  | { readonly valid: true }
  | { readonly valid: false; readonly failed: boolean; readonly message: string };

export interface CompiledSchema {
  readonly hash: string;
  /** What the schema itself wants of a value, beside all else. */
  readonly wants: SchemaWants;
  /** Patterns that are not checked, as {@link CompileOptions.isForeign} has it. */
  readonly unchecked: readonly string[];
  /** Which keywords assert nothing, and why, as {@link CompileOptions.isForeign} has it. */
  readonly ignored: readonly string[];
  /** @param budget what the check may cost. @defaultValue a budget of its own */
  check(value: unknown, budget?: StepBudget): SchemaVerdict;
  /**
   * As `check`, without a verdict.
   * @throws when the check cannot be finished.
   */
  test(value: unknown, budget: StepBudget): boolean;
}

const MAX_SCHEMA_BYTES = 262_144;
const MAX_SCHEMA_DEPTH = 64;
/** Size of the cache of compiled schemas; the oldest is evicted first. */
const MAX_CACHED = 4_096;

const cache = new Map<string, CompiledSchema | SchemaRefusedError>();

/** Schemas compiled since start-up: one per definition, not per call. */
export const compileStats = { compiled: 0 };

/**
 * Compiles a schema, or returns the compiled form of an equal one.
 *
 * @throws SchemaRefusedError when the schema is too large, of an unknown dialect, invalid, or cannot be checked safely.
 */
export function compileSchema(schema: unknown, options: CompileOptions = {}): CompiledSchema {
  return takeAll(compileSteps(schema, options));
}

/** As {@link compileSchema}, in steps of some milliseconds: cold, the whole can take more than 50. */
export function* compileSteps(schema: unknown, options: CompileOptions = {}): Steps<CompiledSchema> {
  const { remotes, checksFormats = true, strictWith, isForeign = false } = options;
  const budget = new StepBudget();
  const isCached = remotes === undefined && strictWith === undefined;
  let hash: string;
  let key: string;
  let copy: unknown;
  try {
    assertDepth(schema, 0, budget);
    payForWalk(schema, budget);
    yield;
    const text = canonicalJson(schema);
    if (text.length > MAX_SCHEMA_BYTES || Buffer.byteLength(text) > MAX_SCHEMA_BYTES) {
      throw new SchemaRefusedError(`The schema has more than ${MAX_SCHEMA_BYTES} bytes`);
    }
    hash = sha256Hex(text);
    key = `${hash} ${checksFormats} ${isForeign}`;
    const known = isCached ? cache.get(key) : undefined;
    if (known instanceof SchemaRefusedError) throw known;
    if (known !== undefined) return known;
    // What is compiled is what was hashed, whatever becomes of the schema between two steps. Its text has been read as
    // JSON, of which this copy is several times faster than structuredClone().
    copy = JSON.parse(JSON.stringify(schema));
  } catch (cause) {
    throw refusal(cause);
  }
  let outcome: CompiledSchema | SchemaRefusedError;
  try {
    yield;
    const compiler = new Compiler(copy, options, budget);
    yield* compiler.steps();
    const { validate, wants, unchecked, ignored } = compiler;
    compileStats.compiled += 1;
    outcome = {
      hash,
      wants,
      unchecked,
      ignored,
      check: (value, own) => runCheck(validate, value, own ?? new StepBudget()),
      test: (value, own) => validate(value, new SchemaRun(own), undefined),
    };
  } catch (cause) {
    outcome = refusal(cause);
  }
  if (isCached) remember(key, outcome);
  if (outcome instanceof SchemaRefusedError) throw outcome;
  return outcome;
}

function refusal(cause: unknown): SchemaRefusedError {
  if (cause instanceof SchemaRefusedError) return cause;
  return new SchemaRefusedError(`The schema cannot be compiled: ${(cause as Error).message}`, { cause });
}

function remember(key: string, outcome: CompiledSchema | SchemaRefusedError): void {
  if (cache.size >= MAX_CACHED) {
    const oldest = cache.keys().next();
    if (oldest.done !== true) cache.delete(oldest.value);
  }
  cache.set(key, outcome);
}

function assertDepth(value: unknown, depth: number, budget: StepBudget): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_SCHEMA_DEPTH) {
    throw new SchemaRefusedError(`The schema is nested more than ${MAX_SCHEMA_DEPTH} levels deep`);
  }
  budget.spend(8);
  for (const member of Object.values(value)) assertDepth(member, depth + 1, budget);
}

function runCheck(validate: Validate, value: unknown, budget: StepBudget): SchemaVerdict {
  const run = new SchemaRun(budget);
  try {
    if (validate(value, run, undefined)) return { valid: true };
  } catch (error) {
    return { valid: false, failed: true, message: `the check failed: ${(error as Error).message}` };
  }
  return { valid: false, failed: false, message: run.problem };
}
