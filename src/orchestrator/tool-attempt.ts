/** One try of a tool call: cache, breaker and gate, then the server. */
import { ownTurn } from '../base/index.ts';
import { isSmall, type JsonObject } from '../json/index.ts';
import type { CallableTool, ToolCallOutcome, ToolResult } from '../mcp-client/index.ts';
import { structureProblem } from '../policy/index.ts';
import { READ_RESOURCE_TOOL } from './linked-resources.ts';
import type { OfferedTool } from './offered-tools.ts';
import type { ToolCallPart } from './providers/index.ts';
import type { Session } from './session.ts';
import { ToolCache } from './tool-cache.ts';
import {
  type Ending,
  finished,
  type GatedOutcome,
  refusedEnding,
  textOfArguments,
  toEnding,
} from './tool-text.ts';

/** Longer results are asked for again: the cache holds hundreds. */
const MAX_CACHED_CHARS = 1_000_000;

const CUT_CALL =
  'The output limit cut your answer off in this call, so it was not made. Make it again with all of its arguments; if they are long, in smaller steps.';

/** Single tries of the calls of one run, each through cache, breaker and gate to its server. */
export class ToolAttempts {
  readonly #session: Session;
  readonly #cache: ToolCache<ToolResult> | undefined;

  constructor(session: Session) {
    this.#session = session;
    const { toolCache = false } = session.options;
    if (toolCache !== false) this.#cache = new ToolCache(toolCache === true ? {} : toolCache);
  }

  /** A call that the signal ended is one that failed. @throws what the gate throws when it cannot record the call. */
  async make(
    call: ToolCallPart,
    tool: OfferedTool | undefined,
    args: JsonObject,
    attempt: number,
  ): Promise<Ending> {
    const cache = this.#cache;
    const { gated, breakers, options } = this.#session;
    const notMade = (kind: 'invalid_arguments' | 'unknown_tool', why: string): Ending => {
      const name = tool?.tool.name ?? call.name;
      this.#session.telemetry.noteUnmade({ server: tool?.server, tool: name, callId: call.id, args }, kind);
      return refusedEnding(kind, why);
    };
    if (call.isCut === true) return notMade('invalid_arguments', CUT_CALL);
    if (call.invalidArguments !== undefined)
      return notMade(
        'invalid_arguments',
        `The arguments are no JSON object: ${call.invalidArguments.reason}`,
      );
    if (tool === undefined && call.name === READ_RESOURCE_TOOL) {
      return refusedEnding('invalid_arguments', this.#session.resources.refusal(args));
    }
    if (tool === undefined) {
      const why = `There is no tool ${call.name}.`;
      if (gated === undefined) return notMade('unknown_tool', why);
      await gated.denyUnknown(call.name, args);
      return refusedEnding('unknown_tool', why);
    }
    const { server } = tool;
    const { name } = tool.tool;
    const readOnly = isReadOnly(tool);
    const argumentsText = readOnly && cache !== undefined ? textOfArguments(args) : '';
    const known = readOnly ? cache?.get(server, name, argumentsText) : undefined;
    if (known !== undefined) return await finished(known, 0, true);
    if (!breakers.tryEnter(server, name)) {
      const why = breakers.keepsFailing(server, name)
        ? `The tool ${name} of ${server} failed again and again; calls to it are paused for a while.`
        : `The server ${server} has not answered lately; calls are paused for a while.`;
      return refusedEnding('breaker_open', why);
    }
    let isMade = false;
    const invoke = async (sent: JsonObject): Promise<ToolCallOutcome> => {
      isMade = true;
      if (!readOnly) cache?.invalidate(server);
      return await this.#call(call, tool, sent, attempt);
    };
    let outcome: GatedOutcome;
    try {
      outcome =
        gated === undefined ? await invoke(args) : await gated.make(server, name, args, invoke, tool.method);
    } catch (error) {
      breakers.abandoned(server, name);
      if (options.signal?.aborted !== true) throw error;
      return refusedEnding('transport_error', 'The call was cancelled by its caller.');
    }
    const { kind } = outcome;
    if (kind === 'cancelled' || (kind === 'denied' && !isMade)) breakers.abandoned(server, name);
    else if (kind === 'transport_error' || kind === 'timeout') breakers.failed(server, name);
    else if (kind === 'tool_error') breakers.failed(server, name, outcome.message);
    else breakers.succeeded(server, name);
    const ending = await toEnding(outcome);
    if (kind === 'ok' && readOnly && ending.text.length <= MAX_CACHED_CHARS)
      cache?.set(server, name, argumentsText, outcome.result);
    return ending;
  }

  async #call(
    call: ToolCallPart,
    { server, tool, toolName, method }: OfferedTool,
    args: JsonObject,
    attempt: number,
  ): Promise<ToolCallOutcome> {
    const { pool, telemetry, options, emit, gated } = this.#session;
    return await telemetry.tool(
      { server, tool: tool.name, callId: call.id, retry: attempt, args },
      async (meta) => {
        try {
          const connection = pool.server(server);
          const limits = { timeoutMs: options.timeout * 1000, signal: options.signal };
          if (method !== undefined) return await connection.readResource(String(args.uri), limits);
          const outcome = await connection.callTool(tool.name, args, {
            ...limits,
            meta,
            onProgress: (progress) => emit({ type: 'tool_progress', toolName, ...progress }),
          });
          return gated === undefined ? await fitted(outcome, tool) : outcome;
        } catch (error) {
          // The tool went away between the listing and the call.
          const { message } = error as Error;
          return { kind: 'protocol_error', message, errorCode: -32601, durationMs: 0 };
        }
      },
      gated === undefined,
      async (outcome) => (await toEnding(outcome)).text,
    );
  }
}

/** Without a gate, which has its own contract, a result has to fit the tool's own schema. */
async function fitted(outcome: ToolCallOutcome, tool: CallableTool): Promise<ToolCallOutcome> {
  if (outcome.kind !== 'ok' || tool.outputSchema === undefined) return outcome;
  // The result was just parsed; checking it may take as long.
  if (!isSmall(outcome.result)) await ownTurn();
  const { result, raw, durationMs } = outcome;
  const problem = await structureProblem(tool, result.structuredContent);
  if (problem === undefined) return outcome;
  const message = `the tool's structured output does not fit its outputSchema: ${problem}`;
  return { kind: 'invalid_output', result, raw, message, violations: [problem], durationMs };
}

export function isReadOnly(tool: OfferedTool): boolean {
  return tool.tool.annotations?.readOnlyHint === true;
}
