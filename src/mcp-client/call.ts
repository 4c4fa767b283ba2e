import type { JsonObject } from '../json/index.ts';
import type { OutputCheck } from './output-schema.ts';
import { reasonOf } from './reason.ts';
import { CONNECTION_LOST } from './request-watch.ts';
import type { McpSession } from './session.ts';
import { readToolResult, textOf } from './tool-result.ts';
import type { ToolCallOptions, ToolCallOutcome, ToolDefinition } from './types.ts';

export const DEFAULT_CALL_TIMEOUT_MS = 30_000;
export const DEFAULT_TOTAL_TIMEOUT_MS = 600_000;

type WithoutDuration<T> = T extends unknown ? Omit<T, 'durationMs'> : never;
/** An outcome before its duration is known. */
type Outcome = WithoutDuration<ToolCallOutcome>;

/** Thrown by a session that plays a recording in which the call got no answer in time. */
export class RecordedTimeout extends Error {}

export interface CallContext {
  readonly session: McpSession;
  readonly server: string;
  readonly outputCheck: OutputCheck | undefined;
  /** A sentence that says why the server is gone; undefined while it is there. */
  readonly causeOfDeath: () => string | undefined;
}

/**
 * Calls one tool and says how the call ended; never rejects. On a timeout and on the caller's signal the server is
 * sent `notifications/cancelled`.
 */
export async function callTool(
  tool: ToolDefinition,
  args: JsonObject,
  options: ToolCallOptions,
  context: CallContext,
): Promise<ToolCallOutcome> {
  const started = performance.now();
  const limits = new CallLimits(options);
  try {
    options.signal?.throwIfAborted();
    const raw = await context.session.callTool(tool, args, options.meta, {
      signal: limits.signal,
      onProgress: (progress) => {
        limits.progressed();
        report(options, progress);
      },
    });
    return timed(judge(raw, context.outputCheck));
  } catch (error) {
    return timed(
      limits.exceeded ??
        cancelled(options.signal) ??
        recordedTimeout(error, options) ??
        classify(error, context),
    );
  } finally {
    limits.clear();
  }

  function timed(outcome: Outcome): ToolCallOutcome {
    return { ...outcome, durationMs: performance.now() - started } as ToolCallOutcome;
  }
}

function judge(raw: JsonObject, outputCheck: OutputCheck | undefined): Outcome {
  const result = readToolResult(raw);
  if (typeof result === 'string') return { kind: 'invalid_output', message: result, violations: [result] };
  if (raw.isError === true) {
    return {
      kind: 'tool_error',
      result,
      message: textOf(result) || 'the tool reported an error without a text',
    };
  }
  const violations = outputCheck?.(result.structuredContent) ?? [];
  if (violations.length === 0) return { kind: 'ok', result };
  return {
    kind: 'invalid_output',
    result,
    violations,
    message: `the tool's structured output does not fit its outputSchema: ${violations.join('; ')}`,
  };
}

function classify(error: unknown, { session, server, causeOfDeath }: CallContext): Outcome {
  const death = causeOfDeath();
  if (death !== undefined) return { kind: 'transport_error', message: death, cause: error };
  const message = reasonOf(error);
  const refused = session.protocolError(error);
  if (refused !== undefined && refused.data !== CONNECTION_LOST) {
    return {
      kind: 'protocol_error',
      message: refused.message,
      errorCode: refused.code,
      ...(refused.data !== undefined && { data: refused.data }),
    };
  }
  if (session.isInvalidResult(error)) return { kind: 'invalid_output', message, violations: [message] };
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

/** The two timers and the caller's signal, joined in one signal that lives as long as the call. */
class CallLimits {
  readonly #controller = new AbortController();
  readonly #idleMs: number;
  readonly #caller: AbortSignal | undefined;
  readonly #total: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout;
  exceeded: Outcome | undefined;

  constructor(options: ToolCallOptions) {
    this.#idleMs = options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS;
    const totalMs = options.maxTotalTimeoutMs ?? DEFAULT_TOTAL_TIMEOUT_MS;
    this.#idle = setTimeout(() => this.#exceed('idle', this.#idleMs), this.#idleMs);
    this.#total = setTimeout(() => this.#exceed('total', totalMs), totalMs);
    this.#caller = options.signal;
    this.#caller?.addEventListener('abort', this.#onCallerAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  progressed(): void {
    if (!this.#controller.signal.aborted) this.#idle.refresh();
  }

  clear(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    this.#caller?.removeEventListener('abort', this.#onCallerAbort);
  }

  readonly #onCallerAbort = (): void => this.#controller.abort('cancelled by the caller');

  #exceed(limit: 'idle' | 'total', limitMs: number): void {
    const message =
      limit === 'idle'
        ? `No answer and no progress within ${limitMs} ms.`
        : `No answer within ${limitMs} ms in all.`;
    this.exceeded ??= { kind: 'timeout', message, limit, limitMs };
    this.#controller.abort(message);
  }
}

function report(
  options: ToolCallOptions,
  progress: Parameters<NonNullable<ToolCallOptions['onProgress']>>[0],
) {
  try {
    options.onProgress?.(progress);
  } catch {
    // A listener that throws is no reason to lose the call.
  }
}
