/**
 * OpenTelemetry ids and the UUIDs that hold them in Postgres.
 *
 * A trace id is 16 bytes, as a UUID is. A span id is 8 bytes: it is stored in the last 8 bytes of a UUID whose first 8
 * are zero, so that both ways are lossless. Ids that are not hex of the right length, and the all-zero ids that
 * OpenTelemetry calls invalid, give `undefined`.
 */
const HEX_32 = /^[0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const INVALID_TRACE_ID = '0'.repeat(32);
const INVALID_SPAN_ID = '0'.repeat(16);
const SPAN_UUID_PREFIX = '00000000-0000-0000-';

/** A trace id in lower case, as OpenTelemetry writes it. */
export function traceIdHex(traceId: string): string | undefined {
  const hex = lowerHex(traceId);
  return hex?.length === 32 && hex !== INVALID_TRACE_ID ? hex : undefined;
}

/** A span id in lower case, as OpenTelemetry writes it. */
export function spanIdHex(spanId: string): string | undefined {
  const hex = lowerHex(spanId);
  return hex?.length === 16 && hex !== INVALID_SPAN_ID ? hex : undefined;
}

/** The UUID of 32 or 16 hex digits; a UUID is returned unchanged. */
export function uuidOfHex(hex: string): string {
  if (hex.length === 16) return `${SPAN_UUID_PREFIX}${hex.slice(0, 4)}-${hex.slice(4)}`;
  return hex.length === 32 ? hyphenate(hex) : hex;
}

/** `4bf92f3577b34da6a3ce929d0e0e4736` to `4bf92f35-77b3-4da6-a3ce-929d0e0e4736`. */
export function traceIdToUuid(traceId: string): string | undefined {
  const hex = traceIdHex(traceId);
  return hex === undefined ? undefined : uuidOfHex(hex);
}

/** `4bf92f35-77b3-4da6-a3ce-929d0e0e4736` to `4bf92f3577b34da6a3ce929d0e0e4736`. */
export function uuidToTraceId(uuid: string): string | undefined {
  const text = uuid.toLowerCase();
  if (!UUID.test(text)) return undefined;
  const hex = text.replaceAll('-', '');
  return hex === INVALID_TRACE_ID ? undefined : hex;
}

/** `b7ad6b7169203331` to `00000000-0000-0000-b7ad-6b7169203331`. */
export function spanIdToUuid(spanId: string): string | undefined {
  const hex = spanIdHex(spanId);
  return hex === undefined ? undefined : uuidOfHex(hex);
}

/** `00000000-0000-0000-b7ad-6b7169203331` to `b7ad6b7169203331`. */
export function uuidToSpanId(uuid: string): string | undefined {
  const text = uuid.toLowerCase();
  if (!UUID.test(text) || !text.startsWith(SPAN_UUID_PREFIX)) return undefined;
  const hex = text.slice(SPAN_UUID_PREFIX.length).replace('-', '');
  return hex === INVALID_SPAN_ID ? undefined : hex;
}

/** Any UUID, or 32 hex digits like those of a trace id, in the form Postgres prints; else `undefined`. */
export function canonicalUuid(text: string): string | undefined {
  const lower = text.toLowerCase();
  if (UUID.test(lower)) return lower;
  return HEX_32.test(lower) ? hyphenate(lower) : undefined;
}

/** Values of lower-case hex digits by their codes, 16 for other characters. */
export const HEX_DIGITS: Uint8Array = new Uint8Array(128).fill(16);
for (let digit = 0; digit < 16; digit += 1) HEX_DIGITS[digit.toString(16).charCodeAt(0)] = digit;

function lowerHex(text: string): string | undefined {
  if (isLowerHex(text)) return text;
  const lower = text.toLowerCase();
  return isLowerHex(lower) ? lower : undefined;
}

/** Without a branch for each character: which digit comes next cannot be predicted, and each span has three ids. */
function isLowerHex(text: string): boolean {
  let all = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    all |= (HEX_DIGITS[code & 0x7f] as number) | (code & ~0x7f);
  }
  return all < 16;
}

function hyphenate(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
