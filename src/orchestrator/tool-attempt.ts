import type { JsonObject } from '../json/index.ts';
import { canonicalJson } from '../json/index.ts';
import type { ServerPool, ToolCallOutcome, ToolResult } from '../mcp-client/index.ts';
import type { CircuitBreakers } from './breaker.ts';
import type { CatalogueTool } from './catalogue.ts';
import { type Ending, endingOf, finished, refused, withResult } from './ending.ts';
import type { EventListener } from './events.ts';
import { askGate, type GateCall, type ToolGate } from './gate.ts';
import type { ToolCallPart } from './providers/index.ts';
import type { RunTelemetry } from './telemetry.ts';
import type { ToolCache } from './tool-cache.ts';

/** What a try of a call works with. */
export interface ToolAttemptParts {
  readonly pool: ServerPool;
  readonly breakers: CircuitBreakers;
  readonly cache: ToolCache<ToolResult> | undefined;
  readonly gate: ToolGate | undefined;
  readonly telemetry: RunTelemetry;
  readonly emit: EventListener;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Single tries of the calls of one run, each through gate, cache and breaker to its server. */
export class ToolAttempts {
  readonly #parts: ToolAttemptParts;
  #callsMade = 0;

  constructor(parts: ToolAttemptParts) {
    this.#parts = parts;
  }

  /** One try: everything that can keep a call from its server, then the server. */
  async make(
    call: ToolCallPart,
    tool: CatalogueTool | undefined,
    args: JsonObject,
    attempt: number,
  ): Promise<Ending> {
    if (tool === undefined) return refused('unknown_tool', `There is no tool ${call.name}.`);
    if (call.invalidArguments !== undefined) {
      return refused(
        'invalid_arguments',
        `The arguments are no JSON object: ${call.invalidArguments.reason}`,
      );
    }
    const { gate, cache, breakers } = this.#parts;
    const { server } = tool;
    const name = tool.tool.name;
    const gateCall: GateCall = { server, tool: tool.tool, arguments: args, callIndex: this.#callsMade };
    this.#callsMade += 1;
    if (gate !== undefined) {
      const verdict = await askGate(() => gate.beforeCall(gateCall));
      if (!verdict.allowed)
        return refused('denied', `Not allowed (${verdict.reasonCode}): ${verdict.message}`);
    }
    const readOnly = isReadOnly(tool);
    const argumentsText = readOnly && cache !== undefined ? textOfArguments(args) : '';
    const known = readOnly ? cache?.get(server, name, argumentsText) : undefined;
    if (known !== undefined) return finished(known, 0, true);
    if (!breakers.tryEnter(server, name)) {
      return refused(
        'breaker_open',
        `The server ${server} has not answered lately; calls are paused for a while.`,
      );
    }
    if (!readOnly) cache?.invalidate(server);
    const outcome = await this.#call(call, tool, args, attempt);
    if (outcome.kind === 'cancelled') breakers.abandoned(server, name);
    else if (outcome.kind === 'transport_error' || outcome.kind === 'timeout') breakers.failed(server, name);
    else breakers.succeeded(server, name);
    const verdict =
      gate?.afterCall === undefined
        ? undefined
        : await askGate(() => gate.afterCall?.(gateCall, outcome) ?? { allowed: true });
    if (outcome.kind === 'cancelled') this.#parts.signal?.throwIfAborted();
    if (verdict?.allowed === false) {
      const why = `The result is withheld (${verdict.reasonCode}): ${verdict.message}`;
      return refused('denied', why, outcome.durationMs);
    }
    const judged = verdict?.result === undefined ? outcome : withResult(outcome, verdict.result);
    if (judged.kind === 'ok' && readOnly) cache?.set(server, name, argumentsText, judged.result);
    return endingOf(judged);
  }

  async #call(
    call: ToolCallPart,
    { server, tool, toolName }: CatalogueTool,
    args: JsonObject,
    attempt: number,
  ): Promise<ToolCallOutcome> {
    const { pool, telemetry, timeoutMs, signal, emit, gate } = this.#parts;
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
      gate?.afterCall === undefined,
      (outcome) => endingOf(outcome).text,
    );
  }
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
