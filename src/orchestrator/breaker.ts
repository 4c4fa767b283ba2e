/** - `closed`: calls pass. - `open`: calls are refused until the cool-down is over. - `half_open`: one probe is out. */
export type BreakerState = 'closed' | 'open' | 'half_open';

export interface BreakerOptions {
  /** Calls in a row without an answer, or with one and the same error, that open the breaker. @defaultValue 3 */
  readonly failureThreshold?: number | undefined;
  /** Calls in a row that a tool answers with any error (`isError`) and that open the breaker. @defaultValue 5 */
  readonly toolErrorThreshold?: number | undefined;
  /** How long an open breaker refuses calls before it lets one probe through, in milliseconds. @defaultValue 30000 */
  readonly coolDownMs?: number | undefined;
}

/** A change of a breaker's state, for events and spans. */
export interface BreakerChange {
  readonly server: string;
  readonly tool: string;
  readonly state: BreakerState;
}

interface Circuit {
  state: BreakerState;
  /** Failures in a row of the kind of the latest: no answer, or its very error. */
  failures: number;
  /** The tool's latest error; undefined when no answer came. */
  lastError: string | undefined;
  /** Errors of the tool in a row, whatever they say. */
  toolErrors: number;
  openedAt: number;
}

/**
 * One circuit breaker per server and tool.
 *
 * A tool that gives no answer (transport, timeout) and one that gives the same error each time are paused alike. Errors
 * that differ count for less: three wrong ids in a row must not lock a tool. A good answer closes the breaker again.
 */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #threshold: number;
  readonly #toolErrorThreshold: number;
  readonly #coolDownMs: number;
  readonly #onChange: (change: BreakerChange) => void;
  readonly #now: () => number;

  constructor(
    options: BreakerOptions = {},
    onChange: (change: BreakerChange) => void = () => undefined,
    now: () => number = () => performance.now(),
  ) {
    this.#threshold = options.failureThreshold ?? 3;
    this.#toolErrorThreshold = options.toolErrorThreshold ?? 5;
    this.#coolDownMs = options.coolDownMs ?? 30_000;
    this.#onChange = onChange;
    this.#now = now;
  }

  /** Whether a call may be made now. A `true` after the cool-down is the probe: exactly one caller gets it. */
  tryEnter(server: string, tool: string): boolean {
    const circuit = this.#circuits.get(key(server, tool));
    if (circuit === undefined || circuit.state === 'closed') return true;
    if (circuit.state === 'half_open') return false;
    if (this.#now() - circuit.openedAt < this.#coolDownMs) return false;
    this.#set(circuit, server, tool, 'half_open');
    return true;
  }

  /** The tool answered, and not with an error. */
  succeeded(server: string, tool: string): void {
    const circuit = this.#circuits.get(key(server, tool));
    if (circuit === undefined) return;
    circuit.failures = 0;
    circuit.toolErrors = 0;
    if (circuit.state !== 'closed') this.#set(circuit, server, tool, 'closed');
  }

  /** @param toolError what the tool answered with `isError`; undefined when no answer came. */
  failed(server: string, tool: string, toolError?: string): void {
    const id = key(server, tool);
    const circuit: Circuit = this.#circuits.get(id) ?? {
      state: 'closed',
      failures: 0,
      lastError: toolError,
      toolErrors: 0,
      openedAt: 0,
    };
    this.#circuits.set(id, circuit);
    circuit.failures = circuit.lastError === toolError ? circuit.failures + 1 : 1;
    circuit.lastError = toolError;
    circuit.toolErrors = toolError === undefined ? 0 : circuit.toolErrors + 1;
    const isTooMuch = circuit.failures >= this.#threshold || circuit.toolErrors >= this.#toolErrorThreshold;
    if (circuit.state !== 'half_open' && !isTooMuch) return;
    circuit.openedAt = this.#now();
    if (circuit.state !== 'open') this.#set(circuit, server, tool, 'open');
  }

  /** The call ended without saying anything about the server (the caller gave up): a probe is handed back. */
  abandoned(server: string, tool: string): void {
    const circuit = this.#circuits.get(key(server, tool));
    if (circuit?.state === 'half_open') this.#set(circuit, server, tool, 'open');
  }

  /** Whether the latest failure of the tool was an answer of its own. */
  keepsFailing(server: string, tool: string): boolean {
    return this.#circuits.get(key(server, tool))?.lastError !== undefined;
  }

  state(server: string, tool: string): BreakerState {
    return this.#circuits.get(key(server, tool))?.state ?? 'closed';
  }

  #set(circuit: Circuit, server: string, tool: string, state: BreakerState): void {
    circuit.state = state;
    this.#onChange({ server, tool, state });
  }
}

function key(server: string, tool: string): string {
  return JSON.stringify([server, tool]);
}
