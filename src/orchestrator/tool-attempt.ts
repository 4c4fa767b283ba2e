/** One try of a tool call: cache, breaker and gate, then the server. */
import { ObservatoryError, ownTurn } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import {
  type CallableTool,
  readToolResult,
  type ServerPool,
  type ServerTool,
  type ToolCallOutcome,
  type ToolDefinition,
  type ToolResult,
} from '../mcp-client/index.ts';
import {
  type AuditRun,
  discoverTools,
  type GateCall,
  guardedCall,
  mayInstruct,
  PolicyDeniedError,
  type PolicyGate,
  rawResultOf,
  recordFindings,
  structureProblem,
  ToolCallError,
} from '../policy/index.ts';
import { READ_RESOURCE_TOOL } from './linked-resources.ts';
import type { OfferedTool } from './offered-tools.ts';
import type { ToolCallPart } from './providers/index.ts';
import type { Session } from './session.ts';
import { ToolCache } from './tool-cache.ts';
import {
  type Ending,
  endingOf,
  finished,
  type GatedOutcome,
  refusedEnding,
  textOfArguments,
} from './tool-text.ts';

/** Longer results are asked for again: the cache holds hundreds. */
const MAX_CACHED_CHARS = 1_000_000;

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
    if (call.invalidArguments !== undefined) {
      const why = `The arguments are no JSON object: ${call.invalidArguments.reason}`;
      return refusedEnding('invalid_arguments', why);
    }
    if (tool === undefined && call.name === READ_RESOURCE_TOOL) {
      return refusedEnding('invalid_arguments', this.#session.resources.refusal(args));
    }
    if (tool === undefined) {
      await gated?.denyUnknown(call.name, args);
      return refusedEnding('unknown_tool', `There is no tool ${call.name}.`);
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
    const invoke = async (): Promise<ToolCallOutcome> => {
      isMade = true;
      if (!readOnly) cache?.invalidate(server);
      return await this.#call(call, tool, args, attempt);
    };
    let outcome: GatedOutcome;
    try {
      outcome =
        gated === undefined ? await invoke() : await gated.make(server, name, args, invoke, tool.method);
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
    const ending = await endingOf(outcome);
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
      async (outcome) => (await endingOf(outcome)).text,
    );
  }
}

/** Without a gate, which has its own contract, a result has to fit the tool's own schema. */
async function fitted(outcome: ToolCallOutcome, tool: CallableTool): Promise<ToolCallOutcome> {
  if (outcome.kind !== 'ok' || tool.outputSchema === undefined) return outcome;
  // The result was just parsed; checking it may take as long.
  await ownTurn();
  const { result, raw, durationMs } = outcome;
  const problem = await structureProblem(tool, result.structuredContent);
  if (problem === undefined) return outcome;
  const message = `the tool's structured output does not fit its outputSchema: ${problem}`;
  return { kind: 'invalid_output', result, raw, message, violations: [problem], durationMs };
}

export function isReadOnly(tool: OfferedTool): boolean {
  return tool.tool.annotations?.readOnlyHint === true;
}

export interface GatedCallsParts {
  readonly gate: PolicyGate;
  readonly pool: ServerPool;
  readonly audit: AuditRun | undefined;
  /** What every call of the run has in common. */
  readonly context: Required<Pick<GateCall, 'runId' | 'userRequest'>> &
    Pick<GateCall, 'caller' | 'sessionId' | 'promptTemplateId'>;
  readonly signal: AbortSignal | undefined;
}

/** Makes the calls of a run through the policy gate's guarded call. */
export class GatedCalls {
  readonly #parts: GatedCallsParts;
  #hasCalled = false;

  constructor(parts: GatedCallsParts) {
    this.#parts = parts;
  }

  /** Asks every server for its tools. @returns those the model may be shown. */
  async allowed(): Promise<readonly ServerTool[]> {
    const { gate, pool, audit, signal } = this.#parts;
    const servers = pool.servers
      .filter(({ state }) => state === 'ready')
      .map((server) => [server.name, { listTools: () => listTools(server, signal) }] as const);
    const allowed = new Set(
      (await discoverTools(gate, servers)).map(({ server, name }) => key(server, name)),
    );
    recordFindings(gate, audit);
    return pool.tools.filter(({ server, tool }) => allowed.has(key(server, tool.name)));
  }

  /** Whether the server's instructions may reach the model. Ask after {@link allowed}. */
  mayInstruct(server: string): boolean {
    const { gate, audit, context } = this.#parts;
    return mayInstruct(server, { gate, audit, context: () => context });
  }

  /**
   * Makes a call if the gate allows it. After the first call of the run, one that cannot be recorded is denied like any
   * other, so that the run can tell what it did.
   * @param invoke calls the server.
   * @param method of a request that is no tool call.
   * @throws ObservatoryError `AUDIT_UNAVAILABLE` when the first call cannot be recorded.
   */
  async make(
    server: string,
    tool: string,
    args: JsonObject,
    invoke: () => Promise<ToolCallOutcome>,
    method?: GateCall['method'],
  ): Promise<GatedOutcome> {
    const { gate, audit, context } = this.#parts;
    const call: GateCall = { ...context, server, tool, args, method };
    const refresh = method === undefined ? () => this.#refresh(server) : undefined;
    const made: { outcome?: ToolCallOutcome } = {};
    const rawResult = async (): Promise<unknown> => {
      this.#hasCalled = true;
      made.outcome = await invoke();
      return rawResultOf(made.outcome);
    };
    try {
      const { result } = await guardedCall(call, rawResult, { gate, audit, refresh });
      return withResult(made.outcome, result);
    } catch (error) {
      if (error instanceof ToolCallError) return error.outcome;
      if (this.#hasCalled && isUnrecorded(error)) {
        return { kind: 'denied', message: 'Not allowed (audit_unavailable)', durationMs: 0 };
      }
      if (!(error instanceof PolicyDeniedError)) throw error;
      const why = `(${error.reasonCode}): ${error.reason}`;
      if (made.outcome === undefined) return { kind: 'denied', message: `Not allowed ${why}`, durationMs: 0 };
      const message = `The call was made, but its result is withheld ${why}`;
      return { kind: 'denied', message, durationMs: made.outcome.durationMs };
    }
  }

  /** Denies a call of a tool that no server lists: like any denied call it has a span and a record. */
  async denyUnknown(modelName: string, args: JsonObject): Promise<void> {
    const named = this.#parts.pool.servers.filter(({ name }) => modelName.startsWith(`${name}__`));
    const server = named.reduce((longest, { name }) => (name.length > longest.length ? name : longest), '');
    const tool = server === '' ? modelName : modelName.slice(server.length + 2);
    const message = 'The tool was not listed when the model was asked';
    const unlisted = { kind: 'protocol_error', message, errorCode: -32602, durationMs: 0 } as const;
    await this.make(server, tool, args, () => Promise.resolve(unlisted));
  }

  /** Lists the server's tools again: one that changes a definition need not announce it. */
  async #refresh(name: string): Promise<void> {
    const { gate, pool, signal } = this.#parts;
    const server = pool.servers.find((one) => one.name === name);
    if (server === undefined) return;
    try {
      await gate.refreshTools(name, await listTools(server, signal));
    } catch (cause) {
      signal?.throwIfAborted();
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new ToolCallError({ kind: 'transport_error', message, cause, durationMs: 0 });
    }
  }
}

function isUnrecorded(error: unknown): boolean {
  return ObservatoryError.isInstance(error) && error.code === 'AUDIT_UNAVAILABLE';
}

/** What a server lists, unchecked: the gate checks it. */
async function listTools(
  server: ServerPool['servers'][number],
  signal: AbortSignal | undefined,
): Promise<readonly ToolDefinition[]> {
  return (await server.listTools(signal)) as readonly ToolDefinition[];
}

function key(server: string, tool: string): string {
  return JSON.stringify([server, tool]);
}

/** The outcome with what the gate made of its result. */
function withResult(outcome: ToolCallOutcome | undefined, raw: unknown): GatedOutcome {
  const result = readToolResult(raw);
  if (outcome === undefined || !('result' in outcome) || typeof result === 'string') {
    return { kind: 'denied', message: 'The result cannot be read', durationMs: outcome?.durationMs ?? 0 };
  }
  return { ...outcome, result, raw: raw as JsonObject };
}
