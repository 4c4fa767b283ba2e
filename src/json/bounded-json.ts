/** Writing JSON of foreign size on the event loop. */

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
