/** What the runs of a gate hold, which the arguments of their calls are traced to. Nothing is kept for a policy without words about it. */
import { context } from '@opentelemetry/api';
import { takeInSlices } from '../base/index.ts';
import { getGovernance } from '../processor/index.ts';
import type { ToolCatalog } from './catalog.ts';
import type { Decision } from './decision.ts';
import type { GateCall } from './gate-types.ts';
import type { Policy } from './policy.ts';
import { type Knowledge, RunMemories, SourceText, type Told } from './sources/index.ts';

/** Requests that are kept as they were read: those of the last calls. */
const MAX_REQUESTS = 16;
const NOTHING: Knowledge = {};

export class RunSources {
  readonly #memories = new RunMemories();
  readonly #requests = new Map<string, SourceText>();
  /** The requests of calls that are being decided. */
  readonly #underWay = new WeakMap<GateCall, SourceText>();
  readonly #policy: () => Policy | undefined;

  constructor(policy: () => Policy | undefined) {
    this.#policy = policy;
  }

  /** What the arguments of a call are traced to. */
  knownTo(call: GateCall): Knowledge {
    const policy = this.#policy();
    if (policy?.readsRequests !== true) return NOTHING;
    const { userRequest } = call;
    const request =
      this.#underWay.get(call) ?? (userRequest === undefined ? undefined : this.#requestOf(userRequest));
    return { request, memory: policy.tracksSources ? this.#memories.open(toRun(call)) : undefined };
  }

  #requestOf(request: string): SourceText {
    const text = this.#requests.get(request) ?? new SourceText().add(request);
    this.#requests.delete(request);
    this.#requests.set(request, text);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MAX_REQUESTS && oldest !== undefined) this.#requests.delete(oldest);
    return text;
  }

  /** Reads long prompts, so that a call is decided with them. @returns undefined where no rule is about them. */
  prepare(call: GateCall): Promise<void> | undefined {
    return this.#policy()?.readsRequests === true ? this.#prepare(call) : undefined;
  }

  async #prepare(call: GateCall): Promise<void> {
    const { request, memory } = this.knownTo(call);
    if (request !== undefined) {
      this.#underWay.set(call, request);
      await takeInSlices(request.read());
    }
    if (memory !== undefined) await takeInSlices(this.#memories.read(toRun(call)));
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
    const values = policy.noteValues(
      call.args,
      this.knownTo(call),
      catalog.find(call.server, call.tool, false),
    );
    this.#memories.noteCall(toRun(call), values, reasonCode === 'approved');
  }
}

/** What a call counts for and what it can know: its run, else its session. Empty if it names neither. */
export function toRun(call: GateCall): string {
  return call.runId ?? findSession(call) ?? '';
}

/** The session of a call: its own, or that of the context. */
export function findSession({ sessionId }: Pick<GateCall, 'sessionId'>): string | undefined {
  return sessionId ?? getGovernance(context.active())?.sessionId;
}
