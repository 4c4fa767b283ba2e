import { isObject, type JsonObject, parseExactJson } from '../../json/index.ts';
import type { InvalidArguments } from './conversation.ts';

/** Key under which arguments that are not JSON go back to a model that must be sent an object. */
const INVALID_JSON_KEY = 'INVALID_JSON';

export type ParsedArguments =
  | { readonly arguments: JsonObject; readonly invalidArguments?: undefined }
  | { readonly arguments: JsonObject; readonly invalidArguments: InvalidArguments };

/** Reads tool arguments a model wrote as text. No text at all means no arguments, and so does null. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === '') return { arguments: {} };
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    return { arguments: {}, invalidArguments: { text, reason: (error as Error).message } };
  }
  if (isObject(value)) return { arguments: value };
  if (value === null) return { arguments: {} };
  // Some models encode the object twice.
  if (typeof value === 'string' && text.length > value.length) return parseArguments(value);
  const kind = Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  return { arguments: {}, invalidArguments: { text, reason: `expected a JSON object, got ${kind}` } };
}

/** Checks arguments that came as a value. */
export function checkArguments(value: unknown): ParsedArguments {
  if (value === undefined || value === null) return { arguments: {} };
  if (isObject(value)) return { arguments: value };
  return parseArguments(typeof value === 'string' ? value : JSON.stringify(value));
}

/** The arguments to show the model in the history: what it wrote, wrapped when that was not an object. */
export function argumentsForHistory(call: {
  readonly arguments: JsonObject;
  readonly invalidArguments?: InvalidArguments | undefined;
}): JsonObject {
  return call.invalidArguments === undefined
    ? call.arguments
    : { [INVALID_JSON_KEY]: call.invalidArguments.text };
}
