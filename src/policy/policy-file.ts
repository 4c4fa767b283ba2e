/**
 * Reading a policy: the allowlist of the seed (`{"<server>": ["<tool>", ...]}`) or the richer form of
 * schema/policy.schema.json. What cannot be read exactly is refused; nothing is guessed or dropped.
 */

import { readFileSync } from 'node:fs';
import type { ApprovalDocument } from '../approvals/index.ts';
import { ObservatoryError, packageFile } from '../base/index.ts';
import {
  type CompiledSchema,
  canonicalJson,
  FILE_LIMITS,
  isObject,
  type JsonObject,
  parseStrictJson,
  type SchemaReading,
  SchemaRefusedError,
  type SchemaVerdict,
  StepBudget,
  StrictJsonError,
  sha256Hex,
} from '../json/index.ts';
import type { OnceDocument, SequenceDocument, TotalDocument } from './ledger/index.ts';
import { compileOperatorSchema } from './operator-schema.ts';
import type { FieldDocument, SourceDocument } from './sources/index.ts';

/** The policy document in the file's own snake_case. */
export interface PolicyDocument {
  readonly version: 1;
  readonly name?: string | undefined;
  readonly mode?: 'enforce' | 'shadow' | undefined;
  readonly duplicate_names?: 'quarantine' | 'allow' | undefined;
  readonly unknown_arguments?: 'reject_undeclared' | 'reject_always' | undefined;
  /** Whether a tool may only be called for a prompt whose template is named. Default: `optional`. */
  readonly prompt_template?: 'optional' | 'required' | undefined;
  /** Whether tools without an output type may be called; their results are cut to size and marked. Default: `allow`. */
  readonly untyped?: Untyped | undefined;
  /** Whose results lose their secrets before they are handed on. Default: `untyped`. */
  readonly redact?: Redact | undefined;
  /** Whether the `format` of tools' schemas is checked. Default: false, it is an annotation. */
  readonly strict_formats?: boolean | undefined;
  readonly rules: readonly RuleDocument[];
  /** Fields of results that outsiders may write: no argument may come from them. */
  readonly untrusted?: readonly FieldDocument[] | undefined;
  readonly budgets?: BudgetDocument | undefined;
  /** Which calls of a run rule others out, or have to come before them. */
  readonly sequences?: readonly SequenceDocument[] | undefined;
  readonly limits?: LimitsDocument | undefined;
  /** What else may be asked of servers, and what they may ask; absent is denied. */
  readonly servers?: Readonly<Record<string, ServerDocument>> | undefined;
  readonly outputs?: Readonly<Record<string, Readonly<Record<string, OutputDocument>>>> | undefined;
  readonly input?: InputDocument | undefined;
  readonly approval?: ApprovalDocument | undefined;
}

/** What holds for one server beside the rules about its tools. Whatever else of MCP is absent is denied. */
export interface ServerDocument {
  /** What becomes of a call of a listed tool that no rule decides. Default: `deny`. */
  readonly default?: 'deny' | 'require_approval' | undefined;
  /** URIs that may be read and subscribed to; `*` is any part of a segment, `**` anything. */
  readonly resources?: readonly string[] | undefined;
  readonly prompts?: readonly string[] | undefined;
  readonly completions?: Permission | undefined;
  readonly sampling?: Permission | undefined;
  readonly elicitation?: Permission | undefined;
  readonly roots?: Permission | undefined;
  readonly instructions?: Permission | undefined;
}

type Permission = 'allow' | 'deny';

type Untyped = 'allow' | 'deny';

/** Results that are redacted: those no type vouches for, all, none. */
export type Redact = 'untyped' | 'always' | 'never';

export interface RuleDocument {
  readonly id: string;
  readonly description?: string | undefined;
  readonly effect: 'allow' | 'deny' | 'require_approval';
  readonly risk_tier?: string | undefined;
  readonly server: string;
  /** `*` in a name stands for any characters. */
  readonly tool: string | readonly string[];
  /** What the tools' servers have to say of them, by the hints of MCP. It is their word. */
  readonly annotations?: Readonly<Record<string, boolean>> | undefined;
  readonly args?: Readonly<Record<string, object | boolean>> | undefined;
  readonly required?: readonly string[] | undefined;
  /** The call has no other arguments than those in `args`. */
  readonly only_args?: true | undefined;
  /** Short for sources from the prompt, else ask. */
  readonly provenance?: readonly string[] | undefined;
  readonly sources?: readonly SourceDocument[] | undefined;
  /** The effect of the calls it applies to, which is done at most once. */
  readonly once?: string | OnceDocument | undefined;
  readonly tests?: RuleTests | undefined;
}

/** Argument objects by the decision the policy must give them. */
export type RuleTests = Readonly<Partial<Record<'allow' | 'deny' | 'require_approval', readonly object[]>>>;

export interface BudgetDocument {
  readonly calls_per_run?: number | undefined;
  readonly calls_per_minute?: number | undefined;
  readonly calls_per_minute_per_tool?: number | undefined;
  readonly totals?: readonly TotalDocument[] | undefined;
}

export interface LimitsDocument {
  readonly argument_bytes?: number | undefined;
  readonly argument_depth?: number | undefined;
  readonly output_bytes?: number | undefined;
}

export interface OutputDocument {
  readonly schema?: object | undefined;
  readonly untyped?: Untyped | undefined;
  readonly redact?: Redact | undefined;
  readonly echo?: Readonly<Record<string, string>> | undefined;
  readonly max_bytes?: number | undefined;
  readonly text?: 'match' | 'ignore' | undefined;
}

export interface InputDocument {
  readonly mode?: 'enforce' | 'watch' | undefined;
  readonly block_phrases?: readonly string[] | undefined;
  readonly max_chars?: number | undefined;
}

/** A policy that has been read, with its identity. */
export interface LoadedPolicy {
  readonly document: PolicyDocument;
  /** The parsed file, in whichever form. */
  readonly source: JsonObject;
  /** SHA-256 of the canonical JSON of the file: the same policy in another layout has the same hash. */
  readonly hash: string;
}

/** Default path of the allowlist, relative to the working directory. */
export const DEFAULT_POLICY_PATH = 'config/allowlist.json';

/**
 * The path of the policy file: the given one, else `SAFE_ALLOWLIST_PATH`, else `config/allowlist.json`.
 * A wrong path can only deny: a file that is not there denies everything.
 */
export function policyPath(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return given ?? env.SAFE_ALLOWLIST_PATH ?? DEFAULT_POLICY_PATH;
}

/**
 * Reads a policy file.
 * @throws ObservatoryError `POLICY_INVALID` when it is missing, unreadable, empty or malformed.
 */
export function readPolicyFile(path: string): LoadedPolicy {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw invalidPolicy(
      `The policy file '${path}' cannot be read (${code}); everything is denied until it can`,
      cause,
    );
  }
  try {
    return readPolicy(bytes);
  } catch (cause) {
    if (!ObservatoryError.isInstance(cause)) throw cause;
    throw invalidPolicy(`The policy file '${path}' cannot be used: ${cause.message}`, cause);
  }
}

/**
 * Reads a policy from its text, its bytes or its parsed form.
 * @throws ObservatoryError `POLICY_INVALID`
 */
export function readPolicy(input: string | Uint8Array | object): LoadedPolicy {
  const value = typeof input === 'string' || input instanceof Uint8Array ? parseFile(input) : input;
  if (!isObject(value)) throw invalidPolicy('A policy is a JSON object');
  const isRich = typeof value.version === 'number';
  const verdict = isRich ? checkFile('policy.schema.json', value) : checkFile('allowlist.schema.json', value);
  if (!verdict.valid) throw invalidPolicy(verdict.message);
  const document = isRich ? (value as unknown as PolicyDocument) : fromAllowlist(value as AllowlistDocument);
  if (document.rules.length === 0 && Object.keys(document.servers ?? {}).length === 0)
    throw invalidPolicy('The policy allows nothing: it has no rule. Add one, or remove the gate');
  return { document, source: value, hash: sha256Hex(canonicalJson(value)) };
}

/** Tools by server. `untyped` is a setting when it holds a word, a server of that name when it holds a list. */
type AllowlistDocument = Readonly<Record<string, readonly string[] | Untyped>>;

/** The seed's allowlist in the richer form: one allow rule per tool, and no argument that the tool does not declare. */
function fromAllowlist(allowlist: AllowlistDocument): PolicyDocument {
  const rules: RuleDocument[] = [];
  let untyped: Untyped | undefined;
  for (const [server, tools] of Object.entries(allowlist)) {
    if (typeof tools === 'string') untyped = tools;
    else
      for (const tool of tools)
        rules.push({ id: `allowlist:${server}/${tool}`, effect: 'allow', server, tool });
  }
  return { version: 1, unknown_arguments: 'reject_always', rules, ...(untyped && { untyped }) };
}

function parseFile(input: string | Uint8Array): unknown {
  try {
    return parseStrictJson(input, FILE_LIMITS);
  } catch (cause) {
    if (cause instanceof StrictJsonError) throw invalidPolicy(cause.message, cause);
    throw cause;
  }
}

const schemas = new Map<string, CompiledSchema>();

/** The JSON Schemas are files of the package, so that editors and this check use the same ones. */
function checkFile(file: string, value: unknown): SchemaVerdict {
  let schema = schemas.get(file);
  if (schema === undefined) {
    const text = readFileSync(packageFile(`schema/${file}`), 'utf8');
    schema = compileOperatorSchema(JSON.parse(text) as object);
    schemas.set(file, schema);
  }
  return schema.check(value, StepBudget.unlimited());
}

/** Compiles the schema of a rule or output of the policy; see {@link compileOperatorSchema}. */
export function compileRuleSchema(
  where: string,
  schema: object | boolean,
  reading: SchemaReading,
): CompiledSchema {
  try {
    return compileOperatorSchema(schema, reading);
  } catch (cause) {
    if (cause instanceof SchemaRefusedError)
      throw invalidPolicy(`The schema of ${where} is wrong: ${cause.message}`, cause);
    throw cause;
  }
}

/** The error of a policy that cannot be used. */
export function invalidPolicy(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('POLICY_INVALID', message, cause === undefined ? undefined : { cause });
}
