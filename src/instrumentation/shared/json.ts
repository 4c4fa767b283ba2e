/** Careful reads of values whose shape another package decides. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

export function objectAt(value: unknown, key: string): JsonObject | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : undefined;
}

export function stringAt(value: unknown, key: string): string | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'string' ? found : undefined;
}

export function numberAt(value: unknown, key: string): number | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

export function listAt(value: unknown, key: string): readonly unknown[] {
  const found = isObject(value) ? value[key] : undefined;
  return Array.isArray(found) ? found : [];
}

/** The strings of a list; a single string counts as a list of one. */
export function stringsAt(value: unknown, key: string): string[] | undefined {
  const found = isObject(value) ? value[key] : undefined;
  if (typeof found === 'string') return [found];
  if (!Array.isArray(found)) return undefined;
  const strings = found.filter((item): item is string => typeof item === 'string');
  return strings.length > 0 ? strings : undefined;
}

/** Parses JSON that a model wrote; a text that is none stands for itself. */
export function parseOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The sum of the counts that are there, or nothing when none is. */
export function sumOf(...counts: (number | undefined)[]): number | undefined {
  let sum: number | undefined;
  for (const count of counts) if (count !== undefined) sum = (sum ?? 0) + count;
  return sum;
}
