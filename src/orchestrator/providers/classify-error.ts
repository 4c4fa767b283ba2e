import type { Fault, HeaderReader } from '../../wire/index.ts';
import { scrubKeys } from './provider-error.ts';

const MAX_MESSAGE = 2_000;
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** Refusals that come with a retryable status and yet will not change by waiting. */
const FINAL_TYPES: ReadonlySet<string> = new Set(['insufficient_quota', 'billing_hard_limit_reached']);
/** Errors inside a stream, which have no status of their own. */
const RETRYABLE_TYPES: ReadonlySet<string> = new Set([
  'overloaded_error',
  'api_error',
  'rate_limit_error',
  'timeout_error',
  'server_error',
  'internal_error',
  'rate_limit_exceeded',
  'UNAVAILABLE',
  'INTERNAL',
  'RESOURCE_EXHAUSTED',
  'DEADLINE_EXCEEDED',
]);
const CONTEXT_LENGTH =
  /context_length_exceeded|maximum context length|prompt is too long|exceeds the maximum number of tokens|input token count/i;
const NETWORK_NAMES: ReadonlySet<string> = new Set(['APIConnectionError', 'APIConnectionTimeoutError']);
const NETWORK_MESSAGE =
  /fetch failed|terminated|socket hang up|sending request|Incomplete JSON segment|other side closed|premature close/i;
const NETWORK_CODE = /^(?:E[A-Z]{3,}|UND_ERR_[A-Z_]+)$/;

/**
 * Reads an error any of the SDKs threw.
 *
 * By shape, not by class: the SDKs are optional, several copies may be loaded, and their classes differ by version.
 *
 * @param now for dates in `retry-after`, in milliseconds since the epoch.
 */
export function classifyError(
  error: unknown,
  apiKey: string | undefined,
  headers: HeaderReader | undefined,
  now: number = Date.now(),
): Fault {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const reader = headers ?? headersOf(fields.headers);
  const text = error instanceof Error ? error.message : String(error);
  const body = bodyOf(fields, text);
  const message = scrubKeys(body.message ?? text, apiKey).slice(0, MAX_MESSAGE);
  const common = {
    type: body.type,
    requestId: reader?.get('x-request-id') ?? reader?.get('request-id') ?? undefined,
    retryAfterMs: retryAfterMs(reader, now) ?? body.retryDelayMs,
  };
  const status = typeof fields.status === 'number' ? fields.status : undefined;
  if (CONTEXT_LENGTH.test(text) && (status === 400 || status === 413 || status === undefined)) {
    return { ...common, kind: 'context_length', status, retryable: false, message };
  }
  if (status !== undefined) {
    return { ...common, kind: 'http', status, message, retryable: mayRetry(status, body.type, reader) };
  }
  if (isNetworkFault(error, text)) {
    return { ...common, kind: 'network', message: networkMessage(error, message), retryable: true };
  }
  if (body.type !== undefined) {
    return { ...common, kind: 'stream', message, retryable: RETRYABLE_TYPES.has(body.type) };
  }
  return { ...common, kind: 'client', message, retryable: false };
}

function mayRetry(status: number, type: string | undefined, headers: HeaderReader | undefined): boolean {
  if (type !== undefined && FINAL_TYPES.has(type)) return false;
  const asked = headers?.get('x-should-retry');
  if (asked === 'true') return true;
  if (asked === 'false') return false;
  return RETRYABLE_STATUS.has(status) || (status >= 500 && status !== 501 && status !== 505);
}

interface ErrorBody {
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  readonly retryDelayMs?: number | undefined;
}

/** Finds the provider's error object: on the SDK's error (OpenAI, Anthropic), or as JSON in its message (Gemini). */
function bodyOf(fields: Record<string, unknown>, text: string): ErrorBody {
  let body: unknown = fields.error;
  const brace = text.indexOf('{');
  if (body === undefined && brace >= 0) {
    try {
      body = JSON.parse(text.slice(brace));
    } catch {
      body = undefined;
    }
  }
  const outer = asRecord(body);
  const inner = asRecord(outer?.error) ?? outer;
  const word = [fields.code, inner?.code, inner?.type, inner?.status, fields.type].find(
    (value) => typeof value === 'string',
  );
  return {
    message: typeof inner?.message === 'string' ? inner.message : undefined,
    type: word as string | undefined,
    retryDelayMs: retryInfoMs(inner?.details),
  };
}

/** `google.rpc.RetryInfo` among Gemini's error details: `{"retryDelay": "34.5s"}`. */
function retryInfoMs(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    const delay = asRecord(detail)?.retryDelay;
    if (typeof delay !== 'string' || !delay.endsWith('s')) continue;
    const seconds = Number(delay.slice(0, -1));
    if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  }
  return undefined;
}

function retryAfterMs(headers: HeaderReader | undefined, now: number): number | undefined {
  const milliseconds = headers?.get('retry-after-ms')?.trim();
  if (milliseconds !== undefined && milliseconds !== '' && Number(milliseconds) >= 0)
    return Number(milliseconds);
  const value = headers?.get('retry-after')?.trim();
  if (value === undefined || value === '') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function isNetworkFault(error: unknown, text: string): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    const { name, code, cause } = current as { name?: unknown; code?: unknown; cause?: unknown };
    if (typeof code === 'string' && NETWORK_CODE.test(code)) return true;
    const constructorName = (current as object).constructor?.name ?? '';
    if (NETWORK_NAMES.has(constructorName) || (typeof name === 'string' && NETWORK_NAMES.has(name)))
      return true;
    current = cause;
  }
  return NETWORK_MESSAGE.test(text);
}

function networkMessage(error: unknown, message: string): string {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (typeof code === 'string' && NETWORK_CODE.test(code)) return `no connection (${code})`;
    current = cause;
  }
  return `connection lost: ${message}`;
}

function headersOf(value: unknown): HeaderReader | undefined {
  return typeof (value as HeaderReader | undefined)?.get === 'function' ? (value as HeaderReader) : undefined;
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
