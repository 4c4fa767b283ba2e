/**
 * How a request ended, in three kinds that stay apart: an error the peer sent (`-32602`), a tool that reported failure
 * in its result (`tool_error`), and a failure on this side (`timeout`, `cancelled`, `connection_closed`, ...).
 */

import { semconv } from '../../base/index.ts';
import { numberAt } from '../../json/index.ts';
import { errorFacts } from '../shared/index.ts';
import type { McpMessage, McpRequestOptions } from './internal-types.ts';
import { DISCOVER } from './methods.ts';

export interface RequestOutcome {
  /** Absent when all went well. */
  readonly errorType?: string | undefined;
  /** JSON-RPC error code, when a response carried one. */
  readonly statusCode?: string | undefined;
  /** Says no more than the error type does, so it may always stand on the span. */
  readonly summary?: string | undefined;
  /** The error's own words: content. */
  readonly message?: string | undefined;
  readonly result?: unknown;
  readonly error?: unknown;
}

const METHOD_NOT_FOUND = -32601;
const REQUEST_TIMEOUT = -32001;
const CONNECTION_CLOSED = -32000;

const CODE_NAMES: Readonly<Record<string, string>> = {
  '-32700': 'Parse error',
  '-32600': 'Invalid request',
  '-32601': 'Method not found',
  '-32602': 'Invalid params',
  '-32603': 'Internal error',
  '-32002': 'Resource not found',
  '-32020': 'Header mismatch',
  '-32021': 'Missing required client capability',
  '-32022': 'Unsupported protocol version',
  '-32042': 'URL elicitation required',
};

export const CANCELLED_OUTCOME: RequestOutcome = { errorType: 'cancelled', summary: 'Request cancelled' };
export const CLOSED_OUTCOME: RequestOutcome = {
  errorType: 'connection_closed',
  summary: 'Connection closed',
};
/** A request that was sent and then forgotten: its answer, if one came, passed us by. */
export const LOST_OUTCOME: RequestOutcome = {
  errorType: semconv.ERROR_TYPE_VALUE_OTHER,
  summary: 'No answer was seen',
};

export function outcomeOfResult(method: string, result: unknown): RequestOutcome {
  // `tasks/result` returns the result of the tool call behind the task.
  if ((method === 'tools/call' || method === 'tasks/result') && isErrorResult(result)) {
    return {
      errorType: semconv.ERROR_TYPE_VALUE_TOOL_ERROR,
      summary: 'Tool reported an error',
      message: errorResultText(result),
      result,
    };
  }
  return { result };
}

export function outcomeOfResponse(method: string, response: McpMessage): RequestOutcome {
  if (response.error === undefined || response.error === null)
    return outcomeOfResult(method, response.result);
  // So a server of an earlier revision answers the probe: the client goes on with `initialize`.
  if (method === DISCOVER && response.error.code === METHOD_NOT_FOUND) return {};
  return outcomeOfCode(response.error.code, response.error.message);
}

function outcomeOfCode(code: unknown, message: unknown): RequestOutcome {
  const text = typeof message === 'string' ? message : undefined;
  if (!Number.isSafeInteger(code)) {
    return { errorType: semconv.ERROR_TYPE_VALUE_OTHER, summary: 'JSON-RPC error', message: text };
  }
  const word = String(code);
  return {
    errorType: word,
    statusCode: word,
    summary: CODE_NAMES[word] ?? `JSON-RPC error ${word}`,
    message: text,
  };
}

/** The outcome of an SDK error: v1 `McpError`; v2 `ProtocolError`, `SdkError`; anything else by its class. */
export function outcomeOfError(error: unknown, options: McpRequestOptions | undefined): RequestOutcome {
  return { ...toOutcome(error, options), error };
}

function toOutcome(error: unknown, options: McpRequestOptions | undefined): RequestOutcome {
  if (typeof error !== 'object' || error === null) {
    return { errorType: semconv.ERROR_TYPE_VALUE_OTHER, summary: 'Request failed' };
  }
  const { code, message, data } = error as Readonly<Record<string, unknown>>;
  const text = typeof message === 'string' ? message : undefined;
  if (options?.signal?.aborted === true) return { ...CANCELLED_OUTCOME, message: text };
  if (typeof code === 'string' && SDK_CODE.test(code)) {
    // v2's HTTP errors say by their status what v1's say by their code.
    const status = numberAt(data, 'status');
    if (isHttpStatus(status)) return outcomeOfStatus(status, text);
    const word = LOCAL_CODES[code] ?? code.toLowerCase();
    return { errorType: word, summary: word, message: text };
  }
  // The codes of a DOMException, such as an aborted fetch, are numbers of the web's own.
  if (typeof code === 'number' && !(error instanceof DOMException)) {
    // v1 makes errors of its own with codes a server may send as well; what it adds to them tells which is which.
    if (code === REQUEST_TIMEOUT && isTimeoutData(data)) {
      return { errorType: 'timeout', summary: 'Request timed out', message: text };
    }
    if (code === CONNECTION_CLOSED && data === undefined && text?.endsWith('Connection closed') === true) {
      return { ...CLOSED_OUTCOME, message: text };
    }
    // A transport's error carries the HTTP status as its code.
    return isHttpStatus(code) ? outcomeOfStatus(code, text) : outcomeOfCode(code, text);
  }
  const { type } = errorFacts(error, undefined);
  return { errorType: type, summary: type, message: text };
}

/** The form of v2's codes; Node's own keep theirs, and any other text may quote what the error is about. */
const SDK_CODE = /^(?!ERR_)(?=.{1,64}$)[A-Z]+(?:_[A-Z]+)+$/;

function isHttpStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 100 && value < 600;
}

export function outcomeOfStatus(status: number, message?: string | undefined): RequestOutcome {
  return { errorType: String(status), summary: `HTTP ${status}`, message };
}

/** v2's codes for failures on this side, where another word is in use here. */
const LOCAL_CODES: Readonly<Record<string, string>> = { REQUEST_TIMEOUT: 'timeout' };

function isTimeoutData(data: unknown): boolean {
  return typeof data === 'object' && data !== null && ('timeout' in data || 'maxTotalTimeout' in data);
}

function isErrorResult(result: unknown): result is { readonly content?: unknown } {
  return typeof result === 'object' && result !== null && (result as { isError?: unknown }).isError === true;
}

/** What a failed tool said, in the words of its text blocks. */
function errorResultText(result: { readonly content?: unknown }): string | undefined {
  if (!Array.isArray(result.content)) return undefined;
  const texts: string[] = [];
  for (const block of result.content as readonly { readonly text?: unknown }[]) {
    if (typeof block?.text === 'string') texts.push(block.text);
  }
  return texts.length === 0 ? undefined : texts.join('\n');
}
