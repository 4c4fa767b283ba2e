/** What the runs of a gate hold, which the arguments of their calls are traced to. Nothing is kept for a policy without words about it. */
import { takeInSlices } from '../base/index.ts';
import type { ToolCatalog } from './catalog.ts';
import type { Decision } from './decision.ts';
import { findSession } from './evaluate.ts';
import type { GateCall } from './gate-types.ts';
import type { Policy } from './policy.ts';
import { RunMemories, type RunMemory, type Told } from './sources/index.ts';

export class RunSources {
  readonly #memories = new RunMemories();
  readonly #policy: () => Policy | undefined;

  constructor(policy: () => Policy | undefined) {
    this.#policy = policy;
  }

  memoryOf(call: GateCall): RunMemory | undefined {
    return this.#memories.open(toRun(call));
  }

  remember(run: string, told: Told): void {
    if (this.#policy()?.tracksSources === true) this.#memories.tell(run, told);
    else this.#memories.miss();
  }

  /** @param result undefined if it was not seen. */
  async rememberResult(call: GateCall, result: unknown): Promise<void> {
    const { server, tool, method } = call;
    if (this.#policy()?.tracksSources !== true) this.#memories.miss();
    else await takeInSlices(this.#memories.addResult(toRun(call), server, method ?? tool, result));
  }

  /** A call goes out: what it says without a source is not made one by a result that repeats it. */
  noteCall(call: GateCall, { reasonCode }: Decision, catalog: ToolCatalog): void {
    const policy = this.#policy();
    if (policy?.tracksSources !== true) return;
    const known = { userRequest: call.userRequest, memory: this.memoryOf(call) };
    const values = policy.noteValues(call.args, known, catalog.find(call.server, call.tool, false));
    this.#memories.noteCall(toRun(call), values, reasonCode === 'approved');
  }
}

/** What a call counts for and what it can know: its run, else its session. Empty if it names neither. */
export function toRun(call: GateCall): string {
  return call.runId ?? findSession(call) ?? '';
}
