/** Reading and writing JSON of foreign size on the event loop: what would take too long is left as it is. */
import { parseContainer } from './lenient-json.ts';
import { payForParse, StepBudget, StepsExceededError } from './schema/index.ts';

/** Parses a JSON object or array; `undefined` for other text, and for JSON that takes longer than one budget of steps. */
export function parseBoundedContainer(text: string): unknown {
  // The first character decides about most texts, before anything is counted.
  if (!/^[ \t\r\n]*[[{]/.test(text)) return undefined;
  try {
    payForParse(text, new StepBudget());
  } catch (error) {
    if (error instanceof StepsExceededError) return undefined;
    throw error;
  }
  return parseContainer(text);
}

/** Deeper levels are written as `null`. */
const MAX_DEPTH = 64;

/** The first `maxChars` characters of a value's JSON text. Reads no more of the value than it writes, and never throws. */
export function beginningOfJson(value: unknown, maxChars: number): string {
  const parts: string[] = [];
  let left = maxChars;
  const put = (part: string): void => {
    parts.push(part);
    left -= part.length;
  };
  const write = (node: unknown, depth: number): void => {
    if (left <= 0) return;
    if (typeof node === 'string') put(JSON.stringify(node.slice(0, left)));
    else if (typeof node !== 'object' || node === null || depth > MAX_DEPTH) put(scalar(node));
    else if (Array.isArray(node)) writeList(node, depth);
    else writeObject(node as Readonly<Record<string, unknown>>, depth);
  };
  const writeList = (list: readonly unknown[], depth: number): void => {
    put('[');
    for (let index = 0; index < list.length && left > 0; index += 1) {
      if (index > 0) put(',');
      write(list[index], depth + 1);
    }
    put(']');
  };
  const writeObject = (object: Readonly<Record<string, unknown>>, depth: number): void => {
    put('{');
    let isFirst = true;
    for (const [key, item] of Object.entries(object)) {
      if (left <= 0) break;
      if (item === undefined) continue;
      put(`${isFirst ? '' : ','}${JSON.stringify(key.slice(0, left))}:`);
      isFirst = false;
      write(item, depth + 1);
    }
    put('}');
  };
  write(value, 0);
  return parts.join('').slice(0, maxChars);
}

function scalar(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : 'null';
}
