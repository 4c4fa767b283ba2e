/**
 * The JSON expected in the table for a value that was sent: a second, simple implementation that shares no code with
 * the one under test.
 */
export function storedJson(value: unknown): unknown {
  if (typeof value === 'string') return storedText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : String(value);
  if (typeof value === 'bigint') return String(value);
  if (value === undefined) return null;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(storedJson);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [storedText(key), storedJson(item)]));
}

/** NUL and lone surrogates become U+FFFD. */
export function storedText(text: string): string {
  // With the flag `u` a surrogate that is half of a pair does not match.
  return text.replace(/[\0\p{Surrogate}]/gu, '\ufffd');
}
