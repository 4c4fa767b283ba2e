/**
 * G4: the result of a call is checked before anyone sees it. What a server sends back is as untrusted as what a planner
 * asks for: `isError`, the output schema, the size, the echo of ids, and the agreement of text and structure are all
 * checked. The call has been made, so its result is handed on: one that no type vouches for, or that does not fit its
 * server's type, is cut to size and marked untrusted. It is withheld where it does not fit what the operator asked for.
 */
import type { Steps } from '../base/index.ts';
import {
  canonicalJson,
  checkJsonValue,
  isObject,
  type JsonLimits,
  type JsonObject,
  parseStrictJson,
  payForParse,
  payForWalk,
  StepBudget,
  StepsExceededError,
  StrictJsonError,
} from '../json/index.ts';
import { normalResult } from '../mcp-client/index.ts';
import { DEFAULT_MAX_BYTES, type OutputContract } from './output-contract.ts';
import type { ReasonCode } from './reasons/index.ts';
import { untrustedResult } from './untrusted-result.ts';

export type OutputVerdict =
  | {
      readonly accepted: true;
      /** The structure; `{result: ...}` around one that is no object; `{content: [...]}` where there is none. */
      readonly value: JsonObject;
      /** False for a tool without an output type: the value is what the server sent, and nothing vouches for it. */
      readonly isTyped: boolean;
    }
  | {
      readonly accepted: false;
      readonly reasonCode: ReasonCode;
      readonly message: string;
      /** The result does not fit the type that its server gave, and is handed on all the same, marked untrusted. */
      readonly isHandedOn?: true | undefined;
    };

export interface JudgedOutput {
  readonly verdict: OutputVerdict;
  /** The result to hand on if the verdict lets it pass, before secrets are taken out of it. */
  readonly result: unknown;
}

/**
 * Judges a `CallToolResult`, in steps each of which has a budget of its own: the whole may take longer than the event
 * loop is to be held.
 * @param contract what was known of the tool's results when the call was decided; undefined refuses every result.
 */
export function* judgeOutput(
  sent: unknown,
  args: JsonObject,
  contract: OutputContract | undefined,
): Steps<JudgedOutput> {
  const maxBytes = contract?.maxBytes ?? DEFAULT_MAX_BYTES;
  const raw = normalResult(sent);
  yield;
  if (raw.isError === true) {
    const verdict = refuse('output_is_error', 'The tool reported an error');
    return { verdict, result: untrustedResult(raw, maxBytes) };
  }
  if (contract === undefined) {
    const verdict = refuse('output_untyped', 'The tool has no output type');
    return { verdict, result: untrustedResult(raw, maxBytes) };
  }
  if (contract.checks.length > 0) {
    const verdict = yield* checkTyped(raw, args, contract);
    if (verdict.accepted || contract.isDemanded) return { verdict, result: raw };
    return { verdict: { ...verdict, isHandedOn: true }, result: untrustedResult(raw, maxBytes) };
  }
  const result = untrustedResult(raw, maxBytes);
  return { verdict: { accepted: true, value: outputValue(result), isTyped: false }, result };
}

/** Judges the answer to what is no tool call: an object within the size. MCP types it, so it counts as typed. */
export function judgeAnswer(raw: unknown, contract: OutputContract | undefined): JudgedOutput {
  const malformed = isObject(raw) ? undefined : refuse('output_malformed', 'The answer is not an object');
  const problem = malformed ?? checkSize(raw as JsonObject, contract?.maxBytes ?? DEFAULT_MAX_BYTES);
  return { verdict: problem ?? { accepted: true, value: raw as JsonObject, isTyped: true }, result: raw };
}

/** What a caller works with: the structure of a result, or its parts. */
export function outputValue({ structuredContent, content }: JsonObject): JsonObject {
  if (structuredContent === undefined) return { content };
  return isObject(structuredContent) ? structuredContent : { result: structuredContent };
}

type Refusal = OutputVerdict & { readonly accepted: false };

function* checkTyped(result: JsonObject, args: JsonObject, contract: OutputContract): Steps<OutputVerdict> {
  const problem = checkSize(result, contract.maxBytes);
  if (problem !== undefined) return problem;
  const { structuredContent: value, content } = result;
  if (value === undefined) return refuse('output_missing', 'The result has no structuredContent');
  const { declared } = contract;
  if (isObject(value) && declared?.isOpen === false) {
    const undeclared = Object.keys(value).find((key) => !declared.names.has(key));
    if (undeclared !== undefined) {
      const shown = undeclared.slice(0, 64);
      return refuse('output_invalid', `structuredContent has the undeclared property '${shown}'`);
    }
  }
  const budget = new StepBudget();
  for (const check of contract.checks) {
    yield;
    const verdict = check.check(value, budget);
    if (!verdict.valid) {
      const reason = verdict.failed ? 'output_check_failed' : 'output_invalid';
      return refuse(reason, `structuredContent: ${verdict.message}`);
    }
  }
  yield;
  const echoed = checkEcho(value, args, contract);
  if (echoed !== undefined) return echoed;
  yield;
  const misfit = yield* checkContent(content, value, contract);
  return misfit ?? { accepted: true, value: outputValue(result), isTyped: true };
}

/** A result may hold one value for so many bytes of its limit: a list of small numbers costs more than its bytes say. */
const BYTES_PER_VALUE = 8;

function checkSize(result: object, maxBytes: number): Refusal | undefined {
  try {
    checkJsonValue(result, {
      maxBytes,
      maxDepth: 64,
      maxValues: Math.max(1_000, maxBytes / BYTES_PER_VALUE),
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const isTooLarge = error.problem === 'too_large' || error.problem === 'too_many_values';
    return refuse(isTooLarge ? 'output_too_large' : 'output_malformed', error.message);
  }
}

function checkEcho(value: unknown, args: JsonObject, contract: OutputContract): Refusal | undefined {
  for (const [property, argument] of Object.entries(contract.echo)) {
    if (!Object.hasOwn(args, argument)) continue;
    const isGiven = isObject(value) && Object.hasOwn(value, property);
    const given = isGiven ? canonicalJson(value[property]) : undefined;
    if (given !== canonicalJson(args[argument])) {
      return refuse('output_echo_mismatch', `'${property}' of the result is not the '${argument}' asked for`);
    }
  }
  return undefined;
}

/** A part that says something of its own would reach the model past the output type. */
function* checkContent(
  content: unknown,
  value: unknown,
  contract: OutputContract,
): Steps<Refusal | undefined> {
  if (content !== undefined && !Array.isArray(content))
    return refuse('output_malformed', "'content' is not a list");
  if (contract.text === 'ignore') return undefined;
  try {
    return yield* checkParts(content ?? [], new Structure(value));
  } catch (error) {
    if (!(error instanceof StepsExceededError)) throw error;
    return refuse('output_check_failed', `The text of the result: ${error.message}`);
  }
}

function* checkParts(content: readonly unknown[], structure: Structure): Steps<Refusal | undefined> {
  for (const part of content) {
    yield;
    if (!isObject(part) || typeof part.type !== 'string') {
      return refuse('output_malformed', 'A part of the content has no type');
    }
    if (part.type !== 'text') {
      if (yield* structure.holds(part)) continue;
      return refuse('output_contradicts_text', `A ${part.type.slice(0, 32)} part is outside the type`);
    }
    if (typeof part.text !== 'string') return refuse('output_malformed', 'A text part has no text');
    if (!(yield* structure.says(part.text))) {
      return refuse('output_contradicts_text', 'A text part says something structuredContent does not');
    }
  }
  return undefined;
}

/** Short texts that report success and nothing else; servers put them beside the structure. */
const ACKNOWLEDGEMENT = /^(?:ok|okay|done|success|successful|succeeded)[.!]?$/i;

/** The size of the whole result has been checked before. */
const TEXT_LIMITS: JsonLimits = {
  maxBytes: Number.MAX_SAFE_INTEGER,
  maxDepth: 64,
  maxValues: 1_000_000,
  largeIntegers: 'text',
};

/**
 * A structure that the parts of the content are compared with. What that takes is computed once, when first needed, and
 * each walk of the structure or of a part has a budget.
 */
class Structure {
  readonly #value: unknown;
  #leaves: ReadonlySet<string> | undefined;
  #whole: string | undefined;
  #parts: ReadonlySet<string> | undefined;

  constructor(value: unknown) {
    this.#value = value;
  }

  /**
   * Whether a text repeats the structure: all of it as JSON, as MCP recommends; one of its texts or numbers; or, as
   * JSON, one of its members or one element of them. server-memory writes the array of `{entities: [...]}`, Python's
   * FastMCP one text for each element of `{result: [...]}`.
   */
  *says(text: string): Steps<boolean> {
    const trimmed = text.trim();
    if (trimmed === '' || ACKNOWLEDGEMENT.test(trimmed)) return true;
    this.#leaves ??= walked(this.#value, readLeaves);
    if (this.#leaves.has(trimmed)) return true;
    yield;
    payForParse(trimmed, new StepBudget());
    let parsed: unknown;
    try {
      parsed = parseStrictJson(trimmed, TEXT_LIMITS);
    } catch {
      return false;
    }
    if (typeof parsed !== 'object') return this.#leaves.has(String(parsed));
    yield;
    return yield* this.holds(parsed);
  }

  /** Whether a JSON value is the structure, one of its members, or an element of one. */
  *holds(value: unknown): Steps<boolean> {
    const json = walked(value, canonicalJson);
    yield;
    this.#whole ??= walked(this.#value, canonicalJson);
    if (json === this.#whole) return true;
    yield;
    this.#parts ??= walked(
      this.#value,
      (whole) => new Set(readParts(whole).map((part) => canonicalJson(part))),
    );
    return this.#parts.has(json);
  }
}

function walked<T>(value: unknown, make: (value: unknown) => T): T {
  payForWalk(value, new StepBudget());
  return make(value);
}

function readParts(value: unknown): readonly unknown[] {
  const members = readMembers(value);
  return [...members, ...members.flatMap((member) => (Array.isArray(member) ? member : []))];
}

function readMembers(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function readLeaves(value: unknown): ReadonlySet<string> {
  const leaves = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node === 'string') leaves.add(node.trim());
    else if (typeof node === 'number' || typeof node === 'boolean') leaves.add(String(node));
    else for (const member of readMembers(node)) visit(member);
  };
  visit(value);
  return leaves;
}

function refuse(reasonCode: ReasonCode, message: string): Refusal {
  return { accepted: false, reasonCode, message };
}
