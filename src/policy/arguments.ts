/** G2, second half: the arguments of one call against the schema of one tool. */

import { createHash, createHmac } from 'node:crypto';
import {
  canonicalJson,
  checkJsonValue,
  isObject,
  type JsonLimits,
  type JsonObject,
  StrictJsonError,
} from '../json/index.ts';
import type { ToolChecks } from './catalogue.ts';
import type { ReasonCode } from './reasons.ts';

export interface Refusal {
  readonly reasonCode: ReasonCode;
  readonly message: string;
}

/** What no schema makes safe: prototype keys, unsafe numbers, lone surrogates, excess size or depth. */
export function unsafeArguments(args: unknown, limits: JsonLimits): Refusal | undefined {
  if (!isObject(args)) return { reasonCode: 'args_unsafe', message: 'The arguments are not a JSON object' };
  try {
    checkJsonValue(args, limits);
    return undefined;
  } catch (error) {
    if (error instanceof StrictJsonError) return { reasonCode: 'args_unsafe', message: error.message };
    return { reasonCode: 'args_unsafe', message: 'The arguments cannot be read' };
  }
}

/**
 * Checks arguments that are safe to look at against a tool's input schema.
 *
 * @param isClosed refuse every name the schema does not list. Otherwise names are refused only where the schema says
 * nothing about further ones: JSON Schema's default, anything goes, is the wrong one for a call.
 */
export function argumentProblem(
  args: JsonObject,
  checks: ToolChecks,
  isClosed: boolean,
): Refusal | undefined {
  const { declared } = checks;
  if (isClosed || !declared.isExplicit) {
    for (const name of Object.keys(args)) {
      if (!declared.names.has(name) && !checks.matchesPattern(name)) {
        return {
          reasonCode: 'args_unknown_key',
          message: `The tool has no argument ${JSON.stringify(name.slice(0, 64))}`,
        };
      }
    }
  }
  const verdict = checks.input.check(args);
  if (verdict.valid) return undefined;
  return {
    reasonCode: verdict.failed ? 'args_check_failed' : 'args_invalid',
    message: `Arguments: ${verdict.message}`,
  };
}

/** SHA-256 of the canonical arguments, or HMAC-SHA-256 with a key, so that short arguments cannot be guessed. */
export function argumentDigest(args: JsonObject, key: string | undefined): string {
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  return hash.update(canonicalJson(args), 'utf8').digest('hex');
}
