import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownTurn, sliced } from '../base/index.ts';
import { isSmall, type JsonObject } from '../json/index.ts';
import type { CallFailure, FailureKind } from './backtrack.ts';
import { Dependencies } from './dependencies.ts';
import { READ_RESOURCE_TOOL } from './linked-resources.ts';
import { looksFailed } from './looks-failed.ts';
import type { FinishedCall } from './loop-detector.ts';
import type { OfferedTool, OfferedTools } from './offered-tools.ts';
import type { ToolCallPart, ToolResultPart } from './providers/index.ts';
import type { RunError, ToolChainEntry } from './result.ts';
import { READ_RESULT_TOOL } from './result-cap.ts';
import type { Session } from './session.ts';
import { isReadOnly, ToolAttempts } from './tool-attempt.ts';
import { type Ending, refusedEnding, shownResult, textOfArguments } from './tool-text.ts';

const RETRY_DELAY_MS = 200;
/** Characters of a result that loop detection holds as they are. */
const MAX_COMPARED = 65_536;

export interface CallReport {
  /** One entry for each try. */
  readonly entries: readonly ToolChainEntry[];
  /** Failed tries that were made again by themselves. */
  readonly retried: readonly RunError[];
  readonly shown: ToolResultPart;
  /** Undefined where no server was asked. */
  readonly server?: string | undefined;
  /** Set when the call failed in the end. */
  readonly failure?: CallFailure | undefined;
  /** For loop detection; absent for reads of stored results, which change nothing and reach no server. */
  readonly trace?: FinishedCall;
}

interface MadeCall extends Pick<CallReport, 'retried'> {
  readonly call: ToolCallPart;
  readonly toolName: string;
  readonly tool: OfferedTool | undefined;
  readonly args: JsonObject;
  /** How each try ended; at least one. */
  readonly endings: readonly Ending[];
}

/** Runs the tool calls of one run, each with its retries, and reports how they ended. */
export class ToolRunner {
  readonly #session: Session;
  readonly #attempts: ToolAttempts;
  readonly #failuresInARow = new Map<string, number>();
  readonly #dependencies: Dependencies;
  readonly #turn = sliced();
  #ownCalls = 0;

  constructor(session: Session) {
    this.#session = session;
    const { systemPrompt, userPrompt } = session.options;
    this.#dependencies = new Dependencies(systemPrompt, userPrompt);
    this.#attempts = new ToolAttempts(session);
  }

  /**
   * Runs the calls of one turn side by side, save where one has to run alone, and reports in the order of the calls.
   * When the run is aborted, what was not finished is reported as cancelled.
   */
  async runTurn(
    calls: readonly ToolCallPart[],
    catalog: OfferedTools,
    iteration: number,
    reasoning: string,
  ): Promise<CallReport[]> {
    const made = inOrder(calls, catalog, (call, tool) => this.#run(call, tool, iteration));
    const settled = await Promise.allSettled(made);
    const done: CallReport[] = [];
    // What counts over calls, such as the references of long results, must not depend on which of them ended first:
    // a replay would ask the model something else.
    for (const one of settled) {
      if (one.status === 'rejected') throw one.reason;
      done.push(await this.#report(one.value, iteration, reasoning));
    }
    for (const { entries } of done) {
      for (const entry of entries) {
        this.#dependencies.add(entry);
        await this.#turn();
      }
    }
    return done;
  }

  /**
   * Makes a call that no model has asked for: of a declared plan, or an undo. It goes through gate, breaker and retries
   * like any other.
   * @param toolName `server.tool`.
   */
  async runNamed(
    toolName: string,
    args: JsonObject,
    catalog: OfferedTools,
    reasoning: string,
  ): Promise<CallReport> {
    this.#ownCalls += 1;
    const tool = catalog.named(toolName);
    const name = tool?.modelName ?? toolName;
    const call = { type: 'tool_call', id: `own_${this.#ownCalls}`, name, arguments: args } as const;
    const [report] = await this.runTurn(
      [call],
      catalog,
      Math.max(1, this.#session.log.iterations),
      reasoning,
    );
    return report as CallReport;
  }

  async #run(call: ToolCallPart, listed: OfferedTool | undefined, iteration: number): Promise<MadeCall> {
    const { resources } = this.#session;
    const isReading = listed === undefined && call.name === READ_RESOURCE_TOOL;
    const tool = isReading ? resources.toolFor(call.arguments) : listed;
    if (call.name === READ_RESULT_TOOL && tool === undefined) return this.#readStored(call);
    const toolName = tool?.toolName ?? call.name;
    const args = tool === undefined ? call.arguments : tool.mapArguments(call.arguments);
    const { emit, options } = this.#session;
    const { signal } = options;
    const retries = options.enableBacktracking ? options.toolRetries : 0;
    const endings: Ending[] = [];
    const retried: RunError[] = [];
    for (let attempt = 0; ; attempt += 1) {
      emit({ type: 'tool_started', iteration, toolName, arguments: args });
      const ending = await this.#attempts.make(call, tool, args, attempt);
      if (!isSmall(ending)) await ownTurn();
      endings.push(ending);
      emit({
        type: 'tool_finished',
        iteration,
        toolName,
        success: ending.success,
        error: pickError(ending),
        executionTime: ending.seconds,
        cached: ending.cached,
      });
      const isOver = isAborted(signal) || attempt >= retries;
      if (!isOver && tool !== undefined && mayRepeat(tool) && isTransient(ending.kind)) {
        retried.push({ iteration, toolName, error: ending.text, recoveryAction: 'automatic_retry' });
        await sleep(RETRY_DELAY_MS * 2 ** attempt, undefined, signal === undefined ? {} : { signal }).catch(
          () => undefined,
        );
        if (!isAborted(signal)) continue;
      }
      return { call, toolName, tool, args, endings, retried };
    }
  }

  #canRead(server: string): boolean {
    return this.#session.pool.servers.some(({ name, hasResources }) => name === server && hasResources);
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
    return {
      iteration,
      toolName,
      arguments: args,
      success: ending.success,
      result: this.#session.cap.isKept(measureSize(ending))
        ? ending.value
        : this.#session.cap.apply(ending.text).text,
      error: pickError(ending),
      ...(looksFailed(ending) ? { looksFailed: true } : {}),
      executionTime: ending.seconds,
      reasoning,
      retryAttempt,
      cached: ending.cached,
      dependsOn: this.#dependencies.of(args),
    };
  }

  async #report(made: MadeCall, iteration: number, reasoning: string): Promise<CallReport> {
    const { call, toolName, tool, args, endings, retried } = made;
    const { cap, resources } = this.#session;
    const entries = endings.map((one) => this.#note(toolName, args, one, iteration, reasoning));
    const ending = endings.at(-1) as Ending;
    if (tool === undefined && call.name === READ_RESULT_TOOL)
      return { entries, retried, shown: shownResult(call, ending.text, [], !ending.success) };
    if (tool !== undefined && this.#canRead(tool.server))
      for (const { links } of endings) resources.add(tool.server, links);
    const resultText = await comparable(ending.text);
    const { text } = cap.apply(ending.text);
    const { images, note } = cap.fitting(ending.images);
    return {
      server: tool?.server,
      entries,
      retried,
      shown: shownResult(call, text + note, images, !ending.success),
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
        resultText,
        readOnly: tool !== undefined && isReadOnly(tool),
      },
    };
  }

  #readStored(call: ToolCallPart): MadeCall {
    const { reference, offset, length } = call.arguments;
    const part = this.#session.cap.read(String(reference), Number(offset ?? 0), Number(length ?? 0));
    const ending =
      part === undefined
        ? refusedEnding('invalid_arguments', `There is no stored result ${JSON.stringify(reference)}.`)
        : { success: true, value: part, text: part, images: [], links: [], seconds: 0, cached: true };
    return {
      call,
      toolName: READ_RESULT_TOOL,
      tool: undefined,
      args: call.arguments,
      endings: [ending],
      retried: [],
    };
  }
}

const pickError = ({ success, text }: Ending): string | null => (success ? null : text);

/** Characters of a result, about. */
function measureSize({ text, images }: Ending): number {
  return images.reduce((chars, { data }) => chars + data.length, text.length);
}

/** A text that is equal for equal results: a long one by its hash, made in slices. */
async function comparable(text: string): Promise<string> {
  if (text.length <= MAX_COMPARED) return text;
  const hash = createHash('sha256');
  const turn = sliced();
  for (let at = 0; at < text.length; at += MAX_COMPARED) {
    hash.update(text.slice(at, at + MAX_COMPARED), 'utf16le');
    await turn();
  }
  return hash.digest('base64');
}

/** Only what the server itself calls safe is repeated without asking: a timeout does not say that nothing was done. */
function mayRepeat(tool: OfferedTool): boolean {
  return isReadOnly(tool) || tool.tool.annotations?.idempotentHint === true;
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function isTransient(kind: FailureKind | undefined): boolean {
  return kind === 'timeout' || kind === 'transport_error';
}

/**
 * Starts the calls of one turn side by side. A tool that says it is destructive runs alone on its server, after the
 * calls before it and before the calls after it.
 * @returns the report of each call, in the order of the calls.
 */
function inOrder<T>(
  calls: readonly ToolCallPart[],
  catalog: OfferedTools,
  run: (call: ToolCallPart, tool: OfferedTool | undefined) => Promise<T>,
): Promise<T>[] {
  const barrier = new Map<string, Promise<unknown>>();
  const running = new Map<string, Promise<unknown>[]>();
  return calls.map((call) => {
    const tool = catalog.find(call.name);
    const server = tool?.server ?? '';
    const alone = tool?.tool.annotations?.destructiveHint === true;
    const before = alone
      ? Promise.all(running.get(server) ?? [])
      : (barrier.get(server) ?? Promise.resolve());
    const report = before.then(() => run(call, tool));
    // The rejection is handled where the report is awaited.
    const settled = report.catch(() => undefined);
    running.set(server, [...(alone ? [] : (running.get(server) ?? [])), settled]);
    if (alone) barrier.set(server, settled);
    return report;
  });
}
