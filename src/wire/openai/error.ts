import { isObject, type JsonObject, objectAt, stringAt } from '../../json/index.ts';
import type { ErrorReport, ErrorWords } from '../contract/index.ts';
import { firstCode } from '../contract/index.ts';

export const OPENAI_ERROR_WORDS: ErrorWords = {
  retryable: ['server_error', 'internal_error', 'rate_limit_exceeded', 'rate_limit_error', 'timeout_error'],
  final: ['insufficient_quota', 'billing_hard_limit_reached'],
  contextLength: ['context_length_exceeded'],
  contextLengthMessage: /context_length_exceeded|maximum context length/i,
};

/**
 * Reads the SDK's `APIError`, or a body `{error: {code, type, message}}`. `code` names the fault (`model_not_found`);
 * where it is null, as for a failed server, `type` names its kind. Routers give an HTTP status as the code.
 */
export function readOpenAiError(error: unknown): ErrorReport | undefined {
  if (!isObject(error)) return undefined;
  const body = objectAt(objectAt(error, 'error'), 'error') ?? objectAt(error, 'error');
  const status = httpStatus(error.status) ?? httpStatus(body?.code) ?? httpStatus(body?.status);
  if (status === undefined && body === undefined) return undefined;
  return {
    code: firstCode(error.code, body?.code, body?.type, body?.status, error.type),
    message: readMessage(body),
    status,
  };
}

/** OpenRouter repeats what the provider behind it said, beside a message that says nothing. */
function readMessage(body: JsonObject | undefined): string | undefined {
  const message = stringAt(body, 'message');
  const upstream = stringAt(objectAt(body, 'metadata'), 'raw');
  return message === undefined || upstream === undefined ? message : `${message}: ${upstream}`;
}

/** Reads what an answer says under `error`; undefined for null and for what names no error. */
export function readAnswerError(error: unknown): ErrorReport | undefined {
  if (typeof error === 'string' && error !== '') return { message: error };
  const report = isObject(error) ? readOpenAiError({ error }) : undefined;
  const { code, message, status } = report ?? {};
  return code === undefined && message === undefined && status === undefined ? undefined : report;
}

function httpStatus(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 400 && value < 600 ? value : undefined;
}
