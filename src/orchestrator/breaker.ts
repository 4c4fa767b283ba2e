/** - `closed`: calls pass. - `open`: calls are refused until the cool-down is over. - `half_open`: one probe is out. */
export type BreakerState = 'closed' | 'open' | 'half_open';

export interface BreakerOptions {
  /** Transport failures in a row that open the breaker. @defaultValue 3 */
  readonly failureThreshold?: number | undefined;
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
  failures: number;
  openedAt: number;
}

/**
 * One circuit breaker per server and tool.
 *
 * Only failures to get any answer count (transport, timeout): a tool that answers with `isError` is alive, and three
 * wrong ids in a row must not lock it. An answer of any kind closes the breaker again.
 */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #threshold: number;
  readonly #coolDownMs: number;
  readonly #onChange: (change: BreakerChange) => void;
  readonly #now: () => number;

  constructor(
    options: BreakerOptions = {},
    onChange: (change: BreakerChange) => void = () => undefined,
    now: () => number = () => performance.now(),
  ) {
    this.#threshold = Math.max(1, options.failureThreshold ?? 3);
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

  /** The server answered, be it with `isError`. */
  succeeded(server: string, tool: string): void {
    const circuit = this.#circuits.get(key(server, tool));
    if (circuit === undefined) return;
    circuit.failures = 0;
    if (circuit.state !== 'closed') this.#set(circuit, server, tool, 'closed');
  }

  /** No answer came. */
  failed(server: string, tool: string): void {
    const id = key(server, tool);
    const circuit = this.#circuits.get(id) ?? { state: 'closed', failures: 0, openedAt: 0 };
    this.#circuits.set(id, circuit);
    circuit.failures += 1;
    if (circuit.state !== 'half_open' && circuit.failures < this.#threshold) return;
    circuit.openedAt = this.#now();
    if (circuit.state !== 'open') this.#set(circuit, server, tool, 'open');
  }

  /** The call ended without saying anything about the server (the caller gave up): a probe is handed back. */
  abandoned(server: string, tool: string): void {
    const circuit = this.#circuits.get(key(server, tool));
    if (circuit?.state === 'half_open') this.#set(circuit, server, tool, 'open');
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
