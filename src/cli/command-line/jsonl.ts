import { errorMessage, type Line, ObservatoryError, readLines } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import type { CommandIo } from './command.ts';

/**
 * Reads JSONL from stdin and writes one JSON line per input line, in order, with the input's `id`.
 *
 * A line that is not a JSON object, or that `handle` refuses with a thrown error, becomes `{"id":..., "line":n,
 * "error":{"code","message"}}`, with a null `id` if unknown, and processing continues. Blank lines are skipped. Lines
 * end with LF or CRLF, the last one also with the input; a byte order mark is dropped. Memory is bounded: reading waits
 * while the output is full, and stops when it is closed.
 *
 * @param handle receives the parsed line, its number from 1, and its text, because parsing loses duplicate keys.
 * @param write the text of one output line. @defaultValue JSON
 * @returns the number of failed lines.
 */
export async function pumpJsonl(
  io: CommandIo,
  handle: (input: JsonObject, line: number, text: string) => JsonObject | Promise<JsonObject>,
  write: (output: JsonObject, input: JsonObject | undefined) => string = (output) => JSON.stringify(output),
): Promise<number> {
  let failures = 0;
  let lineNumber = 0;
  for await (const line of readLines(io.stdin)) {
    lineNumber += 1;
    if (typeof line === 'string' && line.trim() === '') continue;
    let id: unknown;
    let parsed: JsonObject | undefined;
    let output: JsonObject;
    try {
      const input = parseObject(line);
      parsed = input;
      id = input.id;
      output = { ...(id === undefined ? {} : { id }), ...(await handle(input, lineNumber, line as string)) };
    } catch (error) {
      failures += 1;
      output = { id: id ?? null, line: lineNumber, error: describe(error) };
    }
    await io.stdout.writeAll(`${write(output, parsed)}\n`);
    if (io.stdout.isClosed) break;
  }
  return failures;
}

function parseObject(line: Line): JsonObject {
  if (typeof line !== 'string') throw line;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new ObservatoryError('INVALID_INPUT', `The line is not JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ObservatoryError('INVALID_INPUT', `Expected a JSON object on the line, got ${readKind(value)}`);
  }
  return value as JsonObject;
}

/** The type of a JSON value with its article, for messages. */
export function readKind(value: unknown): string {
  return value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : `a${typeof value === 'object' ? 'n' : ''} ${typeof value}`;
}

function describe(error: unknown): { code: string; message: string } {
  if (ObservatoryError.isInstance(error)) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: errorMessage(error) };
}
