/**
 * How the results of a tool are checked: its own outputSchema, the schema of the policy, a registered type. The contract
 * is known before the call, so a tool whose results could not be accepted is never called.
 */
import { diag } from '@opentelemetry/api';
import { ownTurn, takeInSlices } from '../base/index.ts';
import { type CompiledSchema, compileSteps, isObject, isSmall, type SchemaVerdict } from '../json/index.ts';
import type { CallableTool } from '../mcp-client/index.ts';
import type { CatalogTool } from './catalog.ts';
import type { Policy } from './policy.ts';
import { compileRuleSchema, type OutputDocument, type Redact } from './policy-file.ts';
import { declaredArguments } from './tool-definition.ts';

type OutputCheck = Pick<CompiledSchema, 'check'>;

export interface OutputContract {
  /** Every check the structure has to pass. Empty for an untyped tool, whose results are cut to size and marked untrusted. */
  readonly checks: readonly OutputCheck[];
  /** Property names the schema declares; a result may hold no other unless the schema is open. */
  readonly declared: { readonly names: ReadonlySet<string>; readonly isOpen: boolean } | undefined;
  /** Result property -> argument whose value it must repeat. */
  readonly echo: Readonly<Record<string, string>>;
  /** Whether the operator asked for what is checked: a result that does not fit is withheld, else marked untrusted. */
  readonly isDemanded: boolean;
  readonly maxBytes: number;
  /** Whether secrets are taken out of the results. Nothing else of a result that passes is ever changed. */
  readonly redact: Redact;
  /** `match`: text parts may only say what the structure says. */
  readonly text: 'match' | 'ignore';
}

/** A zod type, or anything with its `safeParse`. */
interface ParsesOutput {
  safeParse(value: unknown): { readonly success: boolean };
}

/** zod types, or others with `safeParse`, by server and tool. */
export type OutputTypes = Readonly<Record<string, Readonly<Record<string, ParsesOutput>>>>;

/** Largest result when the policy sets no limit: 1 MiB. */
export const DEFAULT_MAX_BYTES = 1_048_576;

/** Compiled `outputs` schemas of a policy, by the schema object. */
const compiled = new WeakMap<object, CompiledSchema>();

/** The contracts of the tools of a gate, each worked out once. */
export class OutputContracts {
  readonly #types: OutputTypes;
  #policy: Policy | undefined;
  #contracts = new WeakMap<CatalogTool, { readonly contract: OutputContract | undefined }>();

  constructor(types: OutputTypes = {}) {
    this.#types = types;
  }

  /** The contract of a tool's results; undefined for an untyped tool whose results the policy does not take. */
  of(tool: CatalogTool, policy: Policy | undefined): OutputContract | undefined {
    if (policy !== this.#policy) this.#contracts = new WeakMap();
    this.#policy = policy;
    let known = this.#contracts.get(tool);
    if (known === undefined) {
      known = { contract: outputContract(tool, policy, this.#types) };
      this.#contracts.set(tool, known);
    }
    return known.contract;
  }

  /** The contract of answers to what is no tool call. */
  ofRequests(policy: Policy | undefined): OutputContract {
    return requestContract(policy);
  }
}

/**
 * What is wrong with the structure of a result by the tool's own schema, for calls that no gate judges; undefined when it
 * fits. Formats are not checked: a date the validator doubts is no reason to withhold an answer. Nor is a schema that
 * cannot be compiled, which is logged.
 */
export async function structureProblem(
  { name, outputSchema }: Pick<CallableTool, 'name' | 'outputSchema'>,
  structure: unknown,
): Promise<string | undefined> {
  if (outputSchema === undefined) return undefined;
  if (structure === undefined) return 'the tool declares an outputSchema and returned no structuredContent';
  let schema: CompiledSchema;
  try {
    schema = await takeInSlices(compileSteps(outputSchema, { checksFormats: false, isForeign: true }));
  } catch (error) {
    diag.warn(
      `mcp-observatory: the outputSchema of "${name}" cannot be checked: ${(error as Error).message}`,
    );
    return undefined;
  }
  if (!isSmall(structure)) await ownTurn();
  const verdict = schema.check(structure);
  return verdict.valid ? undefined : verdict.message;
}

/** The answer to what is no tool call: any object within the size. */
function requestContract(policy: Policy | undefined): OutputContract {
  const { limits, redact = 'untyped' } = policy?.document ?? {};
  return {
    checks: [],
    declared: undefined,
    echo: {},
    isDemanded: false,
    maxBytes: limits?.output_bytes ?? DEFAULT_MAX_BYTES,
    text: 'ignore',
    redact,
  };
}

function outputContract(
  tool: CatalogTool,
  policy: Policy | undefined,
  types: OutputTypes,
): OutputContract | undefined {
  const rules = ownMember(ownMember(policy?.document.outputs, tool.server), tool.name);
  const type = ownMember(ownMember(types, tool.server), tool.name);
  const { outputSchema, inputSchema } = tool.definition;
  const own = tool.checks?.output;
  const checks: OutputCheck[] = [];
  if (own !== undefined) checks.push(own);
  if (rules?.schema !== undefined) checks.push(compileOnce(`${tool.server}/${tool.name}`, rules.schema));
  if (type !== undefined) checks.push(typeCheck(type));
  const untyped = rules?.untyped ?? policy?.document.untyped ?? 'allow';
  if (checks.length === 0 && untyped === 'deny') return undefined;
  const schema = rules?.schema ?? outputSchema;
  return {
    checks,
    declared: schema === undefined ? undefined : declaredProperties(schema),
    echo: rules?.echo ?? commonIds(inputSchema, schema),
    isDemanded: type !== undefined || untyped === 'deny' || isDemanding(rules),
    maxBytes: rules?.max_bytes ?? policy?.document.limits?.output_bytes ?? DEFAULT_MAX_BYTES,
    redact: rules?.redact ?? policy?.document.redact ?? 'untyped',
    text: rules?.text ?? 'match',
  };
}

/** Whether the policy itself says how the results of a tool have to be. */
function isDemanding({ schema, echo, text, max_bytes }: OutputDocument = {}): boolean {
  return schema !== undefined || echo !== undefined || max_bytes !== undefined || text === 'match';
}

/** A server may name its tool `toString`: only own members count. */
function ownMember<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

function compileOnce(where: string, schema: object): CompiledSchema {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = compileRuleSchema(`output '${where}'`, schema, 'narrow');
    compiled.set(schema, check);
  }
  return check;
}

/** The check of a zod type. A type that throws has not accepted. */
function typeCheck(type: ParsesOutput): OutputCheck {
  const check = (value: unknown): SchemaVerdict => {
    try {
      const isFine = type.safeParse(value).success === true;
      return isFine ? { valid: true } : { valid: false, failed: false, message: 'it does not fit its type' };
    } catch {
      return { valid: false, failed: true, message: 'its type could not be checked' };
    }
  };
  return { check };
}

/** A schema that declares no property at all (`{"type": "object"}`) takes any. */
function declaredProperties(schema: unknown): OutputContract['declared'] {
  const { names, patterns, isExplicit } = declaredArguments(schema);
  return { names, isOpen: isExplicit || patterns.length > 0 || names.size === 0 };
}

/** Names such as `id` and `doc_id` that are both asked for and given back: the answer is about what was asked. */
function commonIds(inputSchema: unknown, outputSchema: unknown): Readonly<Record<string, string>> {
  const outputs = new Set(readRequired(outputSchema));
  const ids = readRequired(inputSchema).filter(
    (name) => outputs.has(name) && /(?:^|_)id$|[a-z]Id$/.test(name),
  );
  return Object.fromEntries(ids.map((name) => [name, name]));
}

function readRequired(schema: unknown): readonly string[] {
  const required = isObject(schema) ? schema.required : undefined;
  return Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];
}
