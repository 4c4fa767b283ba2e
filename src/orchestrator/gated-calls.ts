import { type JsonObject, redactText } from '../json/index.ts';
import {
  readToolResult,
  type ServerPool,
  type ServerTool,
  type ToolCallOutcome,
} from '../mcp-client/index.ts';
import {
  type AuditRun,
  type GateCall,
  guardedCall,
  PolicyDeniedError,
  type PolicyGate,
} from '../policy/index.ts';
import { resultToWire } from './tool-text.ts';

/** How a call through the gate ended: as one without it, or refused, before it was made or after. */
export type GatedOutcome =
  | ToolCallOutcome
  | { readonly kind: 'denied'; readonly message: string; readonly durationMs: number };

export interface GatedCallsParts {
  readonly gate: PolicyGate;
  readonly pool: ServerPool;
  readonly audit: AuditRun | undefined;
  /** What every call of the run has in common. */
  readonly context: Required<Pick<GateCall, 'runId' | 'userRequest'>> & Pick<GateCall, 'caller'>;
}

/** Time a server has to list the tools it announced before a call is decided on the old ones, in milliseconds. */
const CHANGED_TOOLS_WAIT_MS = 5_000;
/** Longest error text of a server that is passed on. */
const MAX_ERROR_CHARS = 8_192;

/** Makes the calls of a run through the policy gate's guarded call. */
export class GatedCalls {
  readonly #parts: GatedCallsParts;
  /** The listing of each server that the gate knows. */
  readonly #known = new Map<string, readonly unknown[]>();

  constructor(parts: GatedCallsParts) {
    this.#parts = parts;
  }

  /** The tools the model may be shown. Gives the gate what each server lists now. */
  allowed(tools: readonly ServerTool[]): readonly ServerTool[] {
    const { gate, pool } = this.#parts;
    const names = new Map<string, ReadonlySet<string>>();
    for (const { name } of pool.servers) {
      this.#tellGate(name);
      names.set(name, new Set(gate.allowedTools(name).map((tool) => tool.name)));
    }
    return tools.filter(({ server, tool }) => names.get(server)?.has(tool.name) === true);
  }

  /**
   * Makes a call if the gate allows it.
   * @param invoke calls the server.
   * @throws ObservatoryError `AUDIT_UNAVAILABLE` when the call cannot be recorded.
   */
  async make(
    server: string,
    tool: string,
    args: JsonObject,
    invoke: () => Promise<ToolCallOutcome>,
  ): Promise<GatedOutcome> {
    const { gate, pool, audit, context } = this.#parts;
    const call: GateCall = { ...context, server, tool, args };
    const refresh = async (): Promise<void> => {
      await pool.toolsSettled(CHANGED_TOOLS_WAIT_MS);
      this.#tellGate(server);
    };
    const made: { outcome?: ToolCallOutcome } = {};
    const rawResult = async (): Promise<unknown> => {
      const outcome = await invoke();
      made.outcome = outcome;
      if (!('result' in outcome) || outcome.result === undefined) throw new CallFailed(outcome);
      return resultToWire(outcome.result, outcome.kind === 'tool_error');
    };
    try {
      const { result } = await guardedCall(call, rawResult, { gate, audit, refresh });
      return withResult(made.outcome, result);
    } catch (error) {
      if (error instanceof CallFailed) return error.outcome;
      if (!(error instanceof PolicyDeniedError)) throw error;
      const why = `(${error.reasonCode}): ${error.reason}`;
      if (made.outcome === undefined) return { kind: 'denied', message: `Not allowed ${why}`, durationMs: 0 };
      const message = `The call was made, but its result is withheld ${why}`;
      return { kind: 'denied', message, durationMs: made.outcome.durationMs };
    }
  }

  #tellGate(server: string): void {
    const { gate, pool } = this.#parts;
    const connection = pool.servers.find(({ name }) => name === server);
    if (connection === undefined) return;
    // A server that died keeps its tools: a call may start it again.
    const isListed = connection.state !== 'failed' && connection.state !== 'connecting';
    if (isListed && this.#known.get(server) === connection.tools) return;
    this.#known.set(server, connection.tools);
    if (isListed) gate.setTools(server, connection.tools);
    else gate.removeServer(server);
  }
}

/** A call that got no result. Its kind is the error's name in the audit and on the span. */
class CallFailed extends Error {
  readonly outcome: ToolCallOutcome;

  constructor(outcome: ToolCallOutcome) {
    super(outcome.kind);
    this.name = outcome.kind;
    // What a server says of a failure reaches the model as its results do.
    this.outcome =
      'message' in outcome
        ? { ...outcome, message: redactText(outcome.message.slice(0, MAX_ERROR_CHARS)) }
        : outcome;
  }
}

function withResult(outcome: ToolCallOutcome | undefined, raw: unknown): GatedOutcome {
  const result = readToolResult(raw);
  if (outcome === undefined || !('result' in outcome) || typeof result === 'string') {
    return { kind: 'denied', message: 'The result cannot be read', durationMs: outcome?.durationMs ?? 0 };
  }
  return { ...outcome, result };
}
