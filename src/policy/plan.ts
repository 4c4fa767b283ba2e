/**
 * G1: a planner's output is exactly one of two plans, or it is refused.
 *
 * The planner is not trusted. No JSON is extracted from prose or code fences and no key is ignored: what a
 * reviewer reads in the trace is all that was asked for.
 */

import {
  checkJsonValue,
  isObject,
  type JsonObject,
  PLAN_LIMITS,
  parseStrictJson,
  StrictJsonError,
} from '../json/index.ts';
import { type Refusal, refusal } from './decision.ts';
import type { ReasonCode } from './reasons/index.ts';

/** Asks for exactly one tool call. */
export interface CallToolPlan {
  readonly type: 'call_tool';
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
}

/** Ends the step without a call. `needs_more_info` is always true: an answer without a tool has no evidence. */
export interface FinalAnswerPlan {
  readonly type: 'final_answer';
  readonly answer: string;
  readonly needs_more_info: true;
}

export type Plan = CallToolPlan | FinalAnswerPlan;

export type PlanResult = { readonly plan: Plan } | { readonly refused: Refusal };

/** Longest server or tool name, in UTF-16 units. MCP itself recommends 128. */
const MAX_NAME = 256;

/**
 * Reads a plan.
 *
 * @param raw a string or UTF-8 bytes, read strictly as JSON text; or a value that is already parsed, in which
 * duplicate keys can no longer be seen: pass the text where there is one.
 */
export function parsePlan(raw: unknown): PlanResult {
  let value: unknown;
  try {
    if (typeof raw === 'string' || raw instanceof Uint8Array) {
      value = parseStrictJson(raw, PLAN_LIMITS);
    } else {
      checkJsonValue(raw, PLAN_LIMITS);
      value = raw;
    }
  } catch (error) {
    if (error instanceof StrictJsonError) return refuse(`plan_${error.problem}`, error.message);
    return refuse('plan_not_json', 'The plan could not be read');
  }
  return isObject(value) ? readPlan(value) : refuse('plan_not_an_object', 'A plan is one JSON object');
}

function readPlan(value: JsonObject): PlanResult {
  const type = own(value, 'type');
  if (type === 'call_tool') {
    const problem = checkKeys(value, ['type', 'server', 'tool', 'args']);
    if (problem !== undefined) return { refused: problem };
    const { server, tool, args } = value;
    if (!isName(server))
      return refuse('plan_wrong_type', `'server' is a name of 1 to ${MAX_NAME} characters`);
    if (!isName(tool)) return refuse('plan_wrong_type', `'tool' is a name of 1 to ${MAX_NAME} characters`);
    if (!isObject(args)) return refuse('plan_wrong_type', "'args' is a JSON object");
    return { plan: { type, server, tool, args } };
  }
  if (type === 'final_answer') {
    const problem = checkKeys(value, ['type', 'answer', 'needs_more_info']);
    if (problem !== undefined) return { refused: problem };
    const { answer, needs_more_info } = value;
    if (typeof answer !== 'string' || answer.trim() === '') {
      return refuse('plan_wrong_type', "'answer' is a text that is not blank");
    }
    if (needs_more_info !== true) {
      const message = "'needs_more_info' is true: an answer without a tool call asks for more";
      return refuse('plan_wrong_type', message);
    }
    return { plan: { type, answer, needs_more_info } };
  }
  return refuse('plan_unknown_type', "'type' is 'call_tool' or 'final_answer'");
}

function checkKeys(value: JsonObject, keys: readonly string[]): Refusal | undefined {
  for (const key of keys) {
    if (!Object.hasOwn(value, key)) return refusal('plan_missing_key', `The plan lacks '${key}'`);
  }
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) {
      return refusal('plan_unknown_key', `The plan has the unknown key ${JSON.stringify(key.slice(0, 64))}`);
    }
  }
  return undefined;
}

function own(value: JsonObject, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME;
}

function refuse(reasonCode: ReasonCode, message: string): PlanResult {
  return { refused: refusal(reasonCode, message) };
}
