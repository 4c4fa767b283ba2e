import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson } from '../signals/index.ts';
import type { CallFailure, FailureKind } from './backtrack.ts';
import type { CircuitBreakers } from './breaker.ts';
import type { Catalogue, CatalogueTool } from './catalogue.ts';
import { type Ending, endingOf, finished, refused, shownResult, withResult } from './ending.ts';
import type { EventListener } from './events.ts';
import { askGate, type GateCall, type ToolGate } from './gate.ts';
import type { PerformanceLog } from './performance.ts';
import type { JsonObject, ToolCallPart, ToolResultPart } from './providers/index.ts';
import { quotedResults } from './quoted-results.ts';
import type { RunError, ToolChainEntry } from './result.ts';
import { READ_RESULT_TOOL, type ResultCap } from './result-cap.ts';
import type { ServerPool, ToolCallOutcome, ToolResult } from './servers/index.ts';
import type { RunTelemetry } from './telemetry.ts';
import type { ToolCache } from './tool-cache.ts';

const RETRY_DELAY_MS = 200;

/** What a call of the model came to. */
export interface CallReport {
  /** One entry for each try. */
  readonly entries: readonly ToolChainEntry[];
  /** Failed tries that were made again by themselves. */
  readonly retried: readonly RunError[];
  readonly shown: ToolResultPart;
  /** Set when the call failed in the end. */
  readonly failure?: CallFailure | undefined;
  /** For loop detection; absent for reads of stored results, which change nothing and reach no server. */
  readonly trace?: {
    readonly argumentsText: string;
    readonly resultText: string;
    readonly readOnly: boolean;
  };
}

/** What the runner works with. */
export interface ToolRunnerParts {
  readonly pool: ServerPool;
  readonly breakers: CircuitBreakers;
  readonly cache: ToolCache<ToolResult> | undefined;
  readonly cap: ResultCap;
  readonly gate: ToolGate | undefined;
  readonly telemetry: RunTelemetry;
  readonly performance: PerformanceLog;
  readonly emit: EventListener;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly signal: AbortSignal | undefined;
}

/** Runs the tool calls of one run, one by one, each through gate, cache, breaker and retries. */
export class ToolRunner {
  readonly #parts: ToolRunnerParts;
  readonly #failuresInARow = new Map<string, number>();
  /** Texts of the results so far, by position in the chain. */
  readonly #resultTexts: string[] = [];
  #callsMade = 0;

  constructor(parts: ToolRunnerParts) {
    this.#parts = parts;
  }

  /**
   * Runs the calls of one turn side by side and reports in the order of the calls. A tool that says it is
   * destructive runs alone on its server, after the calls before it and before the calls after it.
   *
   * @throws the signal's reason when the run is aborted.
   */
  async runTurn(
    calls: readonly ToolCallPart[],
    catalogue: Catalogue,
    iteration: number,
    reasoning: string,
  ): Promise<CallReport[]> {
    const barrier = new Map<string, Promise<unknown>>();
    const running = new Map<string, Promise<unknown>[]>();
    const reports = calls.map((call) => {
      const tool = catalogue.find(call.name);
      const server = tool?.server ?? '';
      const alone = tool?.tool.annotations?.destructiveHint === true;
      const before = alone
        ? Promise.all(running.get(server) ?? [])
        : (barrier.get(server) ?? Promise.resolve());
      const report = before.then(() => this.#run(call, tool, iteration, reasoning));
      // A rejection is the run's end and seen below; here it only must not go unhandled.
      const settled = report.catch(() => undefined);
      running.set(server, [...(alone ? [] : (running.get(server) ?? [])), settled]);
      if (alone) barrier.set(server, settled);
      return report;
    });
    const settled = await Promise.allSettled(reports);
    this.#parts.signal?.throwIfAborted();
    const done = settled.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value;
    });
    for (const report of done) for (const entry of report.entries) this.#resultTexts.push(textOfEntry(entry));
    return done;
  }

  async #run(
    call: ToolCallPart,
    tool: CatalogueTool | undefined,
    iteration: number,
    reasoning: string,
  ): Promise<CallReport> {
    if (call.name === READ_RESULT_TOOL && tool === undefined)
      return this.#readStored(call, iteration, reasoning);
    const toolName = tool?.toolName ?? call.name;
    const args = tool === undefined ? call.arguments : tool.mapArguments(call.arguments);
    const { emit, retries, signal } = this.#parts;
    const entries: ToolChainEntry[] = [];
    const retried: RunError[] = [];
    for (let attempt = 0; ; attempt += 1) {
      emit({ type: 'tool_started', iteration, toolName, arguments: args });
      const ending = await this.#try(call, tool, args, attempt);
      const entry = this.#note(toolName, args, ending, iteration, reasoning);
      entries.push(entry);
      emit({
        type: 'tool_finished',
        iteration,
        toolName,
        success: ending.success,
        error: entry.error,
        executionTime: ending.seconds,
        cached: ending.cached,
      });
      if (attempt < retries && tool !== undefined && mayRepeat(tool) && isTransient(ending.kind)) {
        retried.push({ iteration, toolName, error: ending.text, recoveryAction: 'automatic_retry' });
        await sleep(RETRY_DELAY_MS * 2 ** attempt, undefined, signal === undefined ? {} : { signal });
        continue;
      }
      return this.#report(call, toolName, tool, args, ending, entries, retried);
    }
  }

  /** One try: everything that can keep a call from its server, then the server. */
  async #try(
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

  #note(
    toolName: string,
    args: JsonObject,
    ending: Ending,
    iteration: number,
    reasoning: string,
  ): ToolChainEntry {
    const retryAttempt = this.#failuresInARow.get(toolName) ?? 0;
    if (ending.success) this.#failuresInARow.delete(toolName);
    else this.#failuresInARow.set(toolName, retryAttempt + 1);
    this.#parts.performance.record(toolName, {
      success: ending.success,
      executionTime: ending.seconds,
      retry: retryAttempt > 0,
      cached: ending.cached,
    });
    return {
      iteration,
      toolName,
      arguments: args,
      success: ending.success,
      result: ending.value,
      error: ending.success ? null : ending.text,
      executionTime: ending.seconds,
      reasoning,
      retryAttempt,
      cached: ending.cached,
      dependsOn: quotedResults(args, this.#resultTexts),
    };
  }

  #report(
    call: ToolCallPart,
    toolName: string,
    tool: CatalogueTool | undefined,
    args: JsonObject,
    ending: Ending,
    entries: readonly ToolChainEntry[],
    retried: readonly RunError[],
  ): CallReport {
    const { text } = this.#parts.cap.apply(ending.text);
    return {
      entries,
      retried,
      shown: shownResult(call, text, ending.images, !ending.success),
      failure:
        ending.kind === undefined
          ? undefined
          : {
              toolName,
              kind: ending.kind,
              message: text,
              errorCode: ending.errorCode,
              failuresOfTool: this.#failuresInARow.get(toolName) ?? 1,
            },
      trace: {
        argumentsText: textOfArguments(args),
        resultText: ending.text,
        readOnly: tool !== undefined && isReadOnly(tool),
      },
    };
  }

  #readStored(call: ToolCallPart, iteration: number, reasoning: string): CallReport {
    const { reference, offset, length } = call.arguments;
    const part = this.#parts.cap.read(String(reference), Number(offset ?? 0), Number(length ?? 0));
    const ending =
      part === undefined
        ? refused('invalid_arguments', `There is no stored result ${JSON.stringify(reference)}.`)
        : { success: true, value: part, text: part, images: [], seconds: 0, cached: true };
    const entry = this.#note(READ_RESULT_TOOL, call.arguments, ending, iteration, reasoning);
    return {
      entries: [entry],
      retried: [],
      shown: shownResult(call, ending.text, [], !ending.success),
    };
  }
}

function isReadOnly(tool: CatalogueTool): boolean {
  return tool.tool.annotations?.readOnlyHint === true;
}

/** Only what the server itself calls safe is repeated without asking: a timeout does not say that nothing was done. */
function mayRepeat(tool: CatalogueTool): boolean {
  return isReadOnly(tool) || tool.tool.annotations?.idempotentHint === true;
}

function isTransient(kind: FailureKind | undefined): boolean {
  return kind === 'timeout' || kind === 'transport_error';
}

function textOfArguments(args: JsonObject): string {
  try {
    return canonicalJson(args);
  } catch {
    // Deeper than any tool takes; the plain form still tells two calls apart.
    return JSON.stringify(args);
  }
}

function textOfEntry(entry: ToolChainEntry): string {
  return typeof entry.result === 'string' ? entry.result : (JSON.stringify(entry.result) ?? '');
}
