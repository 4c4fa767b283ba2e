import { canonicalJson, type JsonObject } from '../json/index.ts';
import type { ServerPool, ToolCallOutcome, ToolResult } from '../mcp-client/index.ts';
import type { FailureKind } from './backtrack.ts';
import type { CircuitBreakers } from './breaker.ts';
import type { CatalogueTool } from './catalogue.ts';
import type { EventListener } from './events.ts';
import type { GatedCalls, GatedOutcome } from './gated-calls.ts';
import type { ImagePart, ToolCallPart } from './providers/index.ts';
import type { RunTelemetry } from './telemetry.ts';
import type { ToolCache } from './tool-cache.ts';
import { showResult, valueOfResult } from './tool-text.ts';

/** How one try of a call ended: what the model sees of it and what the caller gets. */
export interface Ending {
  readonly success: boolean;
  readonly value: unknown;
  readonly text: string;
  readonly images: readonly ImagePart[];
  readonly seconds: number;
  readonly cached: boolean;
  readonly kind?: FailureKind | undefined;
  readonly errorCode?: number | undefined;
}

export interface ToolAttemptParts {
  readonly pool: ServerPool;
  readonly breakers: CircuitBreakers;
  readonly cache: ToolCache<ToolResult> | undefined;
  /** Makes the calls of a gated run. */
  readonly gated: GatedCalls | undefined;
  readonly telemetry: RunTelemetry;
  readonly emit: EventListener;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Single tries of the calls of one run, each through cache, breaker and gate to its server. */
export class ToolAttempts {
  readonly #parts: ToolAttemptParts;

  constructor(parts: ToolAttemptParts) {
    this.#parts = parts;
  }

  /** @throws the signal's reason when the run is aborted; what the gate throws when it cannot record the call. */
  async make(
    call: ToolCallPart,
    tool: CatalogueTool | undefined,
    args: JsonObject,
    attempt: number,
  ): Promise<Ending> {
    const { gated, cache, breakers, signal } = this.#parts;
    if (call.invalidArguments !== undefined) {
      const why = `The arguments are no JSON object: ${call.invalidArguments.reason}`;
      return refused('invalid_arguments', why);
    }
    if (tool === undefined) {
      // A call that no server could take is a denied call like any other: it has a span and a record.
      await gated?.make('', call.name, args, () => Promise.reject(new Error('unreachable')));
      return refused('unknown_tool', `There is no tool ${call.name}.`);
    }
    const { server } = tool;
    const { name } = tool.tool;
    const readOnly = isReadOnly(tool);
    const argumentsText = readOnly && cache !== undefined ? textOfArguments(args) : '';
    const known = readOnly ? cache?.get(server, name, argumentsText) : undefined;
    if (known !== undefined) return finished(known, 0, true);
    if (!breakers.tryEnter(server, name)) {
      const why = `The server ${server} has not answered lately; calls are paused for a while.`;
      return refused('breaker_open', why);
    }
    let isMade = false;
    const invoke = async (): Promise<ToolCallOutcome> => {
      isMade = true;
      if (!readOnly) cache?.invalidate(server);
      return await this.#call(call, tool, args, attempt);
    };
    let outcome: GatedOutcome;
    try {
      outcome = gated === undefined ? await invoke() : await gated.make(server, name, args, invoke);
    } catch (error) {
      breakers.abandoned(server, name);
      throw error;
    }
    const { kind } = outcome;
    if (!isMade || kind === 'cancelled') breakers.abandoned(server, name);
    else if (kind === 'transport_error' || kind === 'timeout') breakers.failed(server, name);
    else breakers.succeeded(server, name);
    if (kind === 'cancelled') signal?.throwIfAborted();
    if (kind === 'ok' && readOnly) cache?.set(server, name, argumentsText, outcome.result);
    return endingOf(outcome);
  }

  async #call(
    call: ToolCallPart,
    { server, tool, toolName }: CatalogueTool,
    args: JsonObject,
    attempt: number,
  ): Promise<ToolCallOutcome> {
    const { pool, telemetry, timeoutMs, signal, emit, gated } = this.#parts;
    return await telemetry.tool(
      { server, tool: tool.name, callId: call.id, retry: attempt, args },
      async (meta) => {
        try {
          return await pool.callTool(server, tool.name, args, {
            timeoutMs,
            signal,
            meta,
            onProgress: (progress) => emit({ type: 'tool_progress', toolName, ...progress }),
          });
        } catch (error) {
          // The tool went away between the listing and the call.
          return {
            kind: 'protocol_error',
            message: (error as Error).message,
            errorCode: -32601,
            durationMs: 0,
          };
        }
      },
      gated === undefined,
      (outcome) => endingOf(outcome).text,
    );
  }
}

/** An ending without a result: the call was not made, or gave nothing usable. */
export function refused(kind: FailureKind, text: string, durationMs = 0): Ending {
  return { success: false, value: null, text, images: [], seconds: durationMs / 1000, cached: false, kind };
}

function finished(result: ToolResult, durationMs: number, cached: boolean): Ending {
  return {
    success: true,
    value: valueOfResult(result),
    ...showResult(result),
    seconds: durationMs / 1000,
    cached,
  };
}

function endingOf(outcome: GatedOutcome): Ending {
  if (outcome.kind === 'ok') return finished(outcome.result, outcome.durationMs, false);
  if (outcome.kind === 'cancelled') return refused('transport_error', outcome.message, outcome.durationMs);
  const failed = refused(outcome.kind, outcome.message, outcome.durationMs);
  if (outcome.kind === 'protocol_error') return { ...failed, errorCode: outcome.errorCode };
  if (!('result' in outcome) || outcome.result === undefined) return failed;
  const { text, images } = showResult(outcome.result);
  const shown = text === '' ? outcome.message : text;
  return { ...failed, value: valueOfResult(outcome.result), text: shown, images };
}

export function isReadOnly(tool: CatalogueTool): boolean {
  return tool.tool.annotations?.readOnlyHint === true;
}

/** The arguments as one text, the same for the same call. */
export function textOfArguments(args: JsonObject): string {
  try {
    return canonicalJson(args);
  } catch {
    // Deeper than any tool takes; the plain form still tells two calls apart.
    return JSON.stringify(args);
  }
}
