/** One tool call: its time limits, the reading of its result, and how it ended. */
import { isObject, type JsonObject, readList, stringAt } from '../json/index.ts';
import { Deadline } from './deadline.ts';
import { findExpiry } from './http-answer.ts';
import { SessionExpired } from './http-refusal.ts';
import { normalResult } from './normal-result.ts';
import { CONNECTION_LOST } from './request-watch.ts';
import type { McpSession, RequestControls } from './session.ts';
import type {
  CallableTool,
  ToolCallOptions,
  ToolCallOutcome,
  ToolContent,
  ToolProgress,
  ToolResult,
} from './types.ts';
import { readReason } from './unavailable.ts';

const DEFAULT_CALL_TIMEOUT_MS = 30_000;
const DEFAULT_TOTAL_TIMEOUT_MS = 600_000;

const NEEDS_INPUT =
  'The tool has not run: its server asks for input or a confirmation first, which nobody here can give.';

type WithoutDuration<T> = T extends unknown ? Omit<T, 'durationMs'> : never;
type Outcome = WithoutDuration<ToolCallOutcome>;

/** Thrown by a session that plays a recording in which the call timed out. */
export class RecordedTimeout extends Error {}

export interface CallContext {
  readonly session: McpSession;
  readonly server: string;
  /** A sentence that says why the server is gone; undefined while it is there. */
  readonly causeOfDeath: () => string | undefined;
}

/** Calls one tool, see {@link makeCall}. */
export async function callTool(
  tool: CallableTool,
  args: JsonObject,
  options: ToolCallOptions,
  context: CallContext,
): Promise<ToolCallOutcome> {
  const { session } = context;
  return await makeCall((controls) => session.callTool(tool, args, options.meta, controls), options, context);
}

/** Reads one resource; its contents are the blocks of the result. */
export async function readResource(
  uri: string,
  options: ToolCallOptions,
  context: CallContext,
): Promise<ToolCallOutcome> {
  const read = async (controls: RequestControls): Promise<JsonObject> => {
    const { contents } = await context.session.readResource(uri, controls);
    if (!Array.isArray(contents)) return {};
    return { content: contents.map((resource: unknown) => ({ type: 'resource', resource })) };
  };
  return await makeCall(read, options, context);
}

/**
 * Sends one request and says how it ended; never rejects. On a timeout and on the caller's signal the server is sent
 * `notifications/cancelled`.
 */
async function makeCall(
  send: (controls: RequestControls) => Promise<JsonObject>,
  options: ToolCallOptions,
  context: CallContext,
): Promise<ToolCallOutcome> {
  const started = performance.now();
  const limits = toLimits(options);
  let outcome: Outcome;
  try {
    options.signal?.throwIfAborted();
    const raw = await send({
      signal: limits.signal,
      onProgress: (progress) => {
        limits.progressed();
        report(options, progress);
      },
    });
    outcome = readOutcome(raw);
  } catch (error) {
    outcome =
      limits.exceeded() ??
      cancelled(options.signal) ??
      recordedTimeout(error, options) ??
      findFailure(error, context);
  } finally {
    limits.clear();
  }
  return { ...outcome, durationMs: performance.now() - started };
}

function readOutcome(sent: unknown): Outcome {
  const raw = normalResult(sent);
  if (raw.resultType === 'input_required')
    return { kind: 'tool_error', result: { content: [] }, message: NEEDS_INPUT, raw };
  const result = readToolResult(raw);
  if (raw.isError === true) {
    const text = result.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    const message = text.trim() === '' ? 'the tool reported an error without a text' : text;
    return { kind: 'tool_error', result, message, raw };
  }
  return { kind: 'ok', result, raw };
}

function findFailure(thrown: unknown, { session, server, causeOfDeath }: CallContext): Outcome {
  const error = findExpiry(session, thrown);
  const death = causeOfDeath();
  if (death !== undefined) return { kind: 'transport_error', message: death, cause: error };
  const message = readReason(error);
  const refused = error instanceof SessionExpired ? undefined : session.protocolError(error);
  if (refused !== undefined && refused.data !== CONNECTION_LOST) {
    const { code: errorCode, data } = refused;
    return {
      kind: 'protocol_error',
      message: refused.message,
      errorCode,
      ...(data !== undefined && { data }),
    };
  }
  if (session.isInvalidResult?.(error) === true)
    return { kind: 'invalid_output', message, violations: [message] };
  return { kind: 'transport_error', message: `Server "${server}": ${message}`, cause: error };
}

function recordedTimeout(error: unknown, options: ToolCallOptions): Outcome | undefined {
  if (!(error instanceof RecordedTimeout)) return undefined;
  const limitMs = options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS;
  return { kind: 'timeout', message: error.message, limit: 'idle', limitMs };
}

function cancelled(signal: AbortSignal | undefined): Outcome | undefined {
  if (signal?.aborted !== true) return undefined;
  return { kind: 'cancelled', message: 'The call was cancelled by its caller.', reason: signal.reason };
}

/** The two time limits of a call and the caller's signal, joined in one signal that lives as long as the call. */
function toLimits({ timeoutMs, maxTotalTimeoutMs, signal }: ToolCallOptions) {
  const idleMs = timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS;
  const totalMs = maxTotalTimeoutMs ?? DEFAULT_TOTAL_TIMEOUT_MS;
  const [noProgress, noAnswer] = [
    `No answer and no progress within ${idleMs} ms.`,
    `No answer within ${totalMs} ms in all.`,
  ];
  const idle = new Deadline(idleMs, [signal], {
    timedOut: () => noProgress,
    cancelled: () => 'cancelled by the caller',
  });
  let isOver = false;
  let total: NodeJS.Timeout | undefined;
  const limitTotal = (ms: number): void => {
    total ??= setTimeout(() => {
      isOver = !idle.signal.aborted;
      idle.abort(noAnswer);
    }, ms);
  };
  // Until a call makes progress, the shorter of its limits is the only one.
  const startedAt = performance.now();
  if (totalMs < idleMs) limitTotal(totalMs);
  return {
    signal: idle.signal,
    progressed: () => {
      limitTotal(totalMs - (performance.now() - startedAt));
      idle.refresh();
    },
    exceeded: (): Outcome | undefined => {
      if (idle.passed) return { kind: 'timeout', message: noProgress, limit: 'idle', limitMs: idleMs };
      if (isOver) return { kind: 'timeout', message: noAnswer, limit: 'total', limitMs: totalMs };
      return undefined;
    },
    clear: () => {
      idle.clear();
      clearTimeout(total);
    },
  };
}

function report(options: ToolCallOptions, progress: ToolProgress): void {
  try {
    options.onProgress?.(progress);
  } catch {
    // A listener that throws must not fail the call.
  }
}

/**
 * Reads a result of `tools/call` in its {@link normalResult | one form}. A block of an unknown type, or one that lacks a
 * required field, is kept as `unknown`, so that one odd block does not lose the whole answer.
 */
export function readToolResult(raw: JsonObject): ToolResult {
  const { content, structuredContent } = raw;
  return {
    content: readList(content).map(
      (block): ToolContent => readKnownBlock(block) ?? { type: 'unknown', block },
    ),
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isObject(raw._meta) && { meta: raw._meta }),
  };
}

function readKnownBlock(block: unknown): ToolContent | undefined {
  if (!isObject(block)) return undefined;
  const { type } = block;
  switch (type) {
    case 'text': {
      const text = stringAt(block, 'text');
      return text === undefined ? undefined : { type, text };
    }
    case 'image':
    case 'audio': {
      const [data, mimeType] = [stringAt(block, 'data'), stringAt(block, 'mimeType')];
      return data === undefined || mimeType === undefined ? undefined : { type, data, mimeType };
    }
    case 'resource_link': {
      const uri = stringAt(block, 'uri');
      if (uri === undefined) return undefined;
      const name = stringAt(block, 'name') ?? uri;
      return { type, uri, name, ...readStrings(block, ['title', 'description', 'mimeType']) };
    }
    case 'resource': {
      const { resource } = block;
      const [uri, text, blob] = ['uri', 'text', 'blob'].map((key) => stringAt(resource, key));
      if (uri === undefined || (text === undefined && blob === undefined)) return undefined;
      return { type, uri, ...readStrings(resource, ['mimeType', 'text', 'blob']) };
    }
    default:
      return undefined;
  }
}

/** The given fields as far as they are texts; the others are absent, as they are in a file that holds the block. */
function readStrings<const F extends string>(
  value: unknown,
  fields: readonly F[],
): { readonly [K in F]?: string } {
  const found = fields.flatMap((field) => {
    const text = stringAt(value, field);
    return text === undefined ? [] : [[field, text] as const];
  });
  return Object.fromEntries(found) as { readonly [K in F]?: string };
}
