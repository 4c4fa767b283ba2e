/** Effects that are done at most once: what a rule says with `once`. */
import {
  type CompiledSchema,
  type JsonObject,
  parseContainer,
  readObject,
  StepBudget,
  sha256Hex,
} from '../json/index.ts';
import { nameAt, type OnceDocument, pathsIn, valuesAt } from './ledger/index.ts';
import { compileRuleSchema, invalidPolicy } from './policy-file.ts';

const QUIET_MS = 600_000;

/** How a tool reports the outcome of an effect. */
interface Reconcile {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly done: CompiledSchema;
  readonly notDone: CompiledSchema;
}

export interface Once {
  /** The effect as the policy names it, with its arguments in braces. */
  readonly effect: string;
  readonly paths: readonly string[];
  readonly quietMs: number;
  /** What a result with `isError` means. */
  readonly errors: 'failed' | 'unknown';
  /** The argument that takes the key of the effect. */
  readonly idempotencyKey: string | undefined;
  readonly reconcile: Reconcile | undefined;
}

/** @throws ObservatoryError `POLICY_INVALID` */
export function compileOnce(id: string, given: string | OnceDocument): Once {
  const document = typeof given === 'string' ? { key: given } : given;
  const { key, reconcile, idempotency_key: idempotencyKey, errors = 'failed', quiet_seconds } = document;
  const paths = pathsIn(key);
  if (paths === undefined)
    throw invalidPolicy(`Rule '${id}', once: '${key}' has braces that are not in pairs`);
  const compiled = (name: 'done' | 'not_done', schema: object | boolean): CompiledSchema =>
    compileRuleSchema(`rule '${id}', reconcile '${name}'`, schema, 'narrow');
  return {
    effect: key,
    paths,
    errors,
    idempotencyKey,
    quietMs: quiet_seconds === undefined ? QUIET_MS : quiet_seconds * 1_000,
    reconcile: reconcile && {
      tool: reconcile.tool,
      args: reconcile.args ?? {},
      done: compiled('done', reconcile.done),
      notDone: compiled('not_done', reconcile.not_done),
    },
  };
}

/** SHA-256 of an effect with its arguments, hex; the path of the one that names nothing exactly. */
export function toEffectKey({ effect, paths }: Once, args: JsonObject): { key: string } | { path: string } {
  const names = paths.map((path) => nameAt(args, path));
  const missing = names.indexOf(undefined);
  if (missing !== -1) return { path: paths[missing] ?? '' };
  return { key: sha256Hex(JSON.stringify([effect, ...names])) };
}

/** A key of an effect in the form of a UUID, for tools that take one. The same for each try. */
export function toIdempotencyKey(key: string): string {
  const parts = [key.slice(0, 8), key.slice(8, 12), `8${key.slice(13, 16)}`, `8${key.slice(17, 20)}`];
  return [...parts, key.slice(20, 32)].join('-');
}

/** The arguments with which a tool is asked about an effect; undefined where one of them is missing. */
export function reconcileArgs({ args: wanted }: Reconcile, args: JsonObject): JsonObject | undefined {
  const entries = Object.entries(wanted).map(([name, value]) => {
    const [, path] = (typeof value === 'string' && /^\{([^{}]+)\}$/.exec(value)) || [];
    const [found, ...others] = path === undefined ? [value] : (valuesAt(args, path) ?? []);
    return [name, others.length > 0 ? undefined : found] as const;
  });
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}

/** Whether an effect was done, by the result of a read tool; undefined where it says neither, or both. */
export function readReconcile({ done, notDone }: Reconcile, result: unknown): 'done' | 'failed' | undefined {
  const { structuredContent, content, isError } = readObject(result);
  if (isError === true) return undefined;
  const [{ text = undefined } = {}, ...others] = (Array.isArray(content) ? content : []).map(readObject);
  const said = others.length === 0 && typeof text === 'string' ? (parseContainer(text) ?? text) : undefined;
  const value = structuredContent ?? said;
  try {
    const [isDone, isNot] = [done, notDone].map((schema) => schema.test(value, new StepBudget()));
    return isDone === isNot ? undefined : isDone ? 'done' : 'failed';
  } catch {
    return undefined;
  }
}
