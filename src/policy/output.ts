/**
 * G4: a tool's result is a typed value or it is withheld. What a server sends back is as untrusted as what a planner
 * asks for, so `isError`, the output schema, the size, the echo of ids, and the agreement of text and structure are all
 * checked, and a result that fails is never handed on as raw text.
 */

import type { SchemaVerdict } from '../json/index.ts';
import {
  canonicalJson,
  checkJsonValue,
  isObject,
  type JsonObject,
  parseStrictJson,
  StrictJsonError,
} from '../json/index.ts';
import type { ReasonCode } from './reasons.ts';

/** How the results of one tool are checked. */
export interface OutputContract {
  /** Every check the structure has to pass: the tool's own outputSchema, the policy's schema, a zod type. */
  readonly checks: readonly ((value: unknown) => SchemaVerdict)[];
  /** Names the type may hold; a property that no schema declares is refused. */
  readonly declared: { readonly names: ReadonlySet<string>; readonly isOpen: boolean } | undefined;
  /** Result property -> argument whose value it must repeat. */
  readonly echo: Readonly<Record<string, string>>;
  /** The operator takes results as they are: only `isError`, the form and the size are checked. */
  readonly isUntyped: boolean;
  /** Largest result in bytes of JSON. */
  readonly maxBytes: number;
  /** What text parts beside the structure must do. */
  readonly text: 'match' | 'ignore';
}

export type OutputVerdict =
  | { readonly accepted: true; readonly value: JsonObject }
  | { readonly accepted: false; readonly reasonCode: ReasonCode; readonly message: string };

/** A zod type, or anything with its `safeParse`. */
export interface ParsesOutput {
  safeParse(value: unknown): { readonly success: boolean };
}

/** The check of a zod type. A type that throws has not accepted. */
export function zodCheck(type: ParsesOutput): (value: unknown) => SchemaVerdict {
  return (value) => {
    try {
      const isFine = type.safeParse(value).success === true;
      return isFine ? { valid: true } : { valid: false, failed: false, message: 'it does not fit its type' };
    } catch {
      return { valid: false, failed: true, message: 'its type could not be checked' };
    }
  };
}

/**
 * Checks a `CallToolResult`.
 * @param contract undefined when nobody has said what the tool returns, which refuses the result.
 */
export function checkOutput(
  result: unknown,
  args: JsonObject,
  contract: OutputContract | undefined,
): OutputVerdict {
  if (!isObject(result)) return refuse('output_malformed', 'The result is not an object');
  const problem = checkSize(result, contract?.maxBytes ?? DEFAULT_MAX_BYTES);
  if (problem !== undefined) return problem;
  const { isError, structuredContent, content } = result;
  if (isError !== undefined && typeof isError !== 'boolean') {
    return refuse('output_malformed', "'isError' is not a boolean");
  }
  if (isError === true) return refuse('output_is_error', 'The tool reported an error');
  if (contract === undefined) return refuse('output_untyped', 'Nobody has said what this tool returns');
  if (contract.isUntyped) return acceptUntyped(result);
  if (structuredContent === undefined) return refuse('output_missing', 'The result has no structuredContent');
  if (!isObject(structuredContent)) return refuse('output_invalid', 'structuredContent is not an object');
  const undeclared =
    contract.declared?.isOpen === false
      ? firstUndeclared(structuredContent, contract.declared.names)
      : undefined;
  if (undeclared !== undefined) {
    return refuse(
      'output_invalid',
      `structuredContent has the undeclared property '${undeclared.slice(0, 64)}'`,
    );
  }
  for (const check of contract.checks) {
    const verdict = check(structuredContent);
    if (!verdict.valid) return refuse('output_invalid', `structuredContent: ${verdict.message}`);
  }
  return checkEcho(structuredContent, args, contract) ?? checkText(content, structuredContent, contract);
}

/** A result nobody typed: its structure, else its parts. */
function acceptUntyped(result: JsonObject): OutputVerdict {
  const { structuredContent, content } = result;
  if (isObject(structuredContent)) return { accepted: true, value: structuredContent };
  if (Array.isArray(content)) return { accepted: true, value: { content } };
  return refuse('output_malformed', 'The result has neither structuredContent nor content');
}

/** Largest result when nothing else is said: 1 MiB. */
export const DEFAULT_MAX_BYTES = 1_048_576;

function checkSize(result: object, maxBytes: number): OutputVerdict | undefined {
  try {
    checkJsonValue(result, { maxBytes, maxDepth: 64, maxValues: Math.max(1_000, maxBytes) });
    return undefined;
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    return refuse(error.problem === 'too_large' ? 'output_too_large' : 'output_malformed', error.message);
  }
}

function firstUndeclared(value: JsonObject, names: ReadonlySet<string>): string | undefined {
  return Object.keys(value).find((key) => !names.has(key));
}

function checkEcho(value: JsonObject, args: JsonObject, contract: OutputContract): OutputVerdict | undefined {
  for (const [property, argument] of Object.entries(contract.echo)) {
    if (!Object.hasOwn(args, argument)) continue;
    const given = Object.hasOwn(value, property) ? canonicalJson(value[property]) : undefined;
    if (given !== canonicalJson(args[argument])) {
      return refuse('output_echo_mismatch', `'${property}' of the result is not the '${argument}' asked for`);
    }
  }
  return undefined;
}

/** Short texts that say that all went well and nothing else; servers put them beside the structure. */
const ACKNOWLEDGEMENT = /^(?:ok|okay|done|success|successful|succeeded)[.!]?$/i;

/**
 * Text parts beside the structure must say the same: the structure as JSON (which MCP recommends), texts that stand in
 * it, or a bare acknowledgement. A text of its own would reach the model past the output type.
 */
function checkText(content: unknown, value: JsonObject, contract: OutputContract): OutputVerdict {
  if (content !== undefined && !Array.isArray(content))
    return refuse('output_malformed', "'content' is not a list");
  if (contract.text === 'ignore') return { accepted: true, value };
  for (const part of content ?? []) {
    if (!isObject(part) || typeof part.type !== 'string') {
      return refuse('output_malformed', 'A part of the content has no type');
    }
    if (part.type !== 'text')
      return refuse('output_contradicts_text', `A ${part.type.slice(0, 32)} part is outside the type`);
    if (typeof part.text !== 'string') return refuse('output_malformed', 'A text part has no text');
    if (!agrees(part.text, value)) {
      return refuse('output_contradicts_text', 'A text part says something structuredContent does not');
    }
  }
  return { accepted: true, value };
}

/** The size of the whole result has been checked before. */
const TEXT_LIMITS = { maxBytes: Number.MAX_SAFE_INTEGER, maxDepth: 64, maxValues: 1_000_000 };

function agrees(text: string, value: JsonObject): boolean {
  const trimmed = text.trim();
  if (trimmed === '' || ACKNOWLEDGEMENT.test(trimmed)) return true;
  if (trimmed.startsWith('{')) {
    try {
      return canonicalJson(parseStrictJson(trimmed, TEXT_LIMITS)) === canonicalJson(value);
    } catch {
      return false;
    }
  }
  return leavesOf(value).some((leaf) => leaf.trim() === trimmed);
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leavesOf);
}

function refuse(reasonCode: ReasonCode, message: string): OutputVerdict & { accepted: false } {
  return { accepted: false, reasonCode, message };
}
