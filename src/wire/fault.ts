import { ObservatoryError } from '../base/index.ts';
import type { ErrorReport, HeaderReader, WireApi } from './contract/index.ts';
import { PROVIDERS } from './registry.ts';

/**
 * What kind of failure a call to a provider had:
 * - `http`: it answered with an error status. `stream`: it reported an error inside an answer.
 * - `network`: no answer, or the connection was cut. `timeout`: nothing came for too long.
 * - `context_length`: the conversation is longer than the model takes.
 * - `client`: the request could not even be made.
 */
export type ProviderFailure = 'http' | 'stream' | 'network' | 'timeout' | 'context_length' | 'client';

/** A failed call in neutral form. */
export interface Fault {
  readonly kind: ProviderFailure;
  readonly message: string;
  readonly status?: number | undefined;
  /** The provider's own word for the error, e.g. `overloaded_error`, `insufficient_quota`. */
  readonly type?: string | undefined;
  readonly requestId?: string | undefined;
  /** Wait the provider asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly retryable: boolean;
}

/** Thrown for an error that an answer reports under a successful status, in place of its content. */
export class AnswerError extends Error {
  readonly report: ErrorReport;

  constructor(report: ErrorReport) {
    super(report.message ?? report.code ?? 'The answer reports an error');
    this.name = 'AnswerError';
    this.report = report;
  }
}

const MAX_MESSAGE = 2_000;
/** Errors put what matters first; a longer message is not searched. */
const MAX_SEARCHED = 16_384;
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** A request too large is refused with 400 or 413; other statuses mean something else, whatever their message quotes. */
const TOO_LARGE_STATUS: ReadonlySet<number | undefined> = new Set([400, 413, 422, undefined]);
const NETWORK_NAMES: ReadonlySet<string> = new Set(['APIConnectionError', 'APIConnectionTimeoutError']);
const NETWORK_MESSAGE =
  /fetch failed|terminated|socket hang up|sending request|Incomplete JSON segment|other side closed|premature close/i;
const NETWORK_CODE = /^(?:E[A-Z]{3,}|UND_ERR_[A-Z_]+)$/;

/**
 * Reads an error any of the SDKs threw, or an {@link AnswerError}.
 *
 * By shape, not by class: the SDKs are optional, several copies may be loaded, and their classes differ by version.
 * Servers that imitate one provider often pass on the errors of another, so the words of all providers count.
 */
export function readFault(
  error: unknown,
  api: Pick<WireApi, 'readError'>,
  headers?: HeaderReader | undefined,
): Fault {
  const report = error instanceof AnswerError ? error.report : api.readError(error);
  const text = textOfError(error);
  const reader = headers ?? readHeaders(error);
  const status = report?.status;
  const type = report?.code;
  const message = (report?.message ?? text).slice(0, MAX_MESSAGE);
  const common = {
    type,
    requestId: reader?.get('x-request-id') ?? reader?.get('request-id') ?? undefined,
    retryAfterMs: retryAfterMs(reader) ?? report?.retryAfterMs,
  };
  if (TOO_LARGE_STATUS.has(status) && (saysContextLength(type, text) || saysContextLength(type, message))) {
    return { ...common, kind: 'context_length', status, retryable: false, message };
  }
  if (error instanceof AnswerError) {
    const retryable = status === undefined ? isRetryableCode(type) : mayRetry(status, type, undefined);
    return { ...common, kind: 'stream', status, message, retryable };
  }
  if (status !== undefined) {
    return { ...common, kind: 'http', status, message, retryable: mayRetry(status, type, reader) };
  }
  const redirect = redirectIn(error);
  if (redirect !== undefined) return { ...common, kind: 'client', message: redirect, retryable: false };
  const lost = networkMessage(error, text, message);
  if (lost !== undefined) return { ...common, kind: 'network', message: lost, retryable: true };
  if (type !== undefined) return { ...common, kind: 'stream', message, retryable: isRetryableCode(type) };
  return { ...common, kind: 'client', message, retryable: false };
}

/** A hook of the application may throw anything, also what has no text. */
function textOfError(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return 'an error without a message';
  }
}

function saysContextLength(code: string | undefined, text: string): boolean {
  const searched = text.slice(0, MAX_SEARCHED);
  return errorWords().some(
    ({ contextLength, contextLengthMessage }) =>
      (code !== undefined && contextLength.includes(code)) || contextLengthMessage.test(searched),
  );
}

function isRetryableCode(code: string | undefined): boolean {
  return code !== undefined && errorWords().some(({ retryable }) => retryable.includes(code));
}

function mayRetry(status: number, code: string | undefined, headers: HeaderReader | undefined): boolean {
  if (code !== undefined && errorWords().some(({ final }) => final.includes(code))) return false;
  const asked = headers?.get('x-should-retry');
  if (asked === 'true') return true;
  if (asked === 'false') return false;
  return RETRYABLE_STATUS.has(status) || (status >= 500 && status !== 501 && status !== 505);
}

function errorWords(): readonly WireApi['errorWords'][] {
  return PROVIDERS.flatMap(({ apis }) => apis.map((api) => api.errorWords));
}

function retryAfterMs(headers: HeaderReader | undefined): number | undefined {
  const milliseconds = headers?.get('retry-after-ms')?.trim();
  if (milliseconds !== undefined && milliseconds !== '' && Number(milliseconds) >= 0)
    return Number(milliseconds);
  const value = headers?.get('retry-after')?.trim();
  if (value === undefined || value === '') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** The SDKs hide the error of `fetch` in `cause`. */
function redirectIn(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    if (ObservatoryError.isInstance(current) && current.code === 'REDIRECT_REFUSED') return current.message;
    current = (current as { cause?: unknown }).cause;
  }
  return undefined;
}

/** What a lost connection says of itself; undefined for other errors. */
function networkMessage(error: unknown, text: string, message: string): string | undefined {
  let isNetwork = NETWORK_MESSAGE.test(text);
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    const { name, code, cause } = current as { name?: unknown; code?: unknown; cause?: unknown };
    if (typeof code === 'string' && NETWORK_CODE.test(code)) return `no connection (${code})`;
    isNetwork ||= NETWORK_NAMES.has(current.constructor?.name ?? '') || NETWORK_NAMES.has(String(name));
    current = cause;
  }
  return isNetwork ? `connection lost: ${message}` : undefined;
}

function readHeaders(error: unknown): HeaderReader | undefined {
  const headers = typeof error === 'object' && error !== null ? (error as { headers?: unknown }).headers : {};
  return typeof (headers as HeaderReader | undefined)?.get === 'function'
    ? (headers as HeaderReader)
    : undefined;
}
