/** The tool calls of a run that has a policy gate. */
import { ObservatoryError } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import {
  normalResult,
  readToolResult,
  type ServerPool,
  type ServerTool,
  type ToolCallOutcome,
  type ToolDefinition,
} from '../mcp-client/index.ts';
import {
  type AuditRun,
  discoverTools,
  type GateCall,
  guardedCall,
  mayInstruct,
  PolicyDeniedError,
  type PolicyGate,
  recordFindings,
  ToolCallError,
  toRawResult,
} from '../policy/index.ts';
import type { GatedOutcome } from './tool-text.ts';

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
   * @param invoke calls the server with these arguments.
   * @param method of a request that is no tool call.
   * @throws ObservatoryError `AUDIT_UNAVAILABLE` when the first call cannot be recorded.
   */
  async make(
    server: string,
    tool: string,
    args: JsonObject,
    invoke: (sent: JsonObject) => Promise<ToolCallOutcome>,
    method?: GateCall['method'],
  ): Promise<GatedOutcome> {
    const { gate, pool, audit, context, signal } = this.#parts;
    const call: GateCall = { ...context, server, tool, args, method };
    const read = async (other: string, sent: JsonObject): Promise<unknown> =>
      toRawResult(await pool.callTool(server, other, sent, { signal }));
    const refresh = method === undefined ? () => this.#refresh(server) : undefined;
    const made: { outcome?: ToolCallOutcome } = {};
    const rawResult = async (sent: JsonObject): Promise<unknown> => {
      this.#hasCalled = true;
      made.outcome = await invoke(sent);
      return toRawResult(made.outcome);
    };
    try {
      const { result } = await guardedCall(call, rawResult, { gate, audit, refresh, read });
      return withResult(made.outcome, result);
    } catch (error) {
      if (error instanceof ToolCallError) return error.outcome;
      if (this.#hasCalled && isUnrecorded(error)) {
        return { kind: 'denied', message: 'Not allowed (audit_unavailable)', durationMs: 0 };
      }
      if (!(error instanceof PolicyDeniedError)) throw error;
      const why = `(${error.reasonCode}): ${error.reason}`;
      if (made.outcome === undefined) return { kind: 'denied', message: `Not allowed ${why}`, durationMs: 0 };
      const message = `The call was made and took effect; do not make it again. Its result is withheld ${why}`;
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

function withResult(outcome: ToolCallOutcome | undefined, guarded: unknown): GatedOutcome {
  const raw = normalResult(guarded);
  const result = readToolResult(raw);
  if (outcome !== undefined && 'result' in outcome) return { ...outcome, result, raw };
  return { kind: 'ok', result, raw, durationMs: outcome?.durationMs ?? 0 };
}
