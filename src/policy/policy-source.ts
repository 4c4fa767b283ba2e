/**
 * The policy in force. A file that cannot be used denies everything; a file that changes is read, tested and swapped in
 * as a whole; a change that cannot be used leaves the old policy in force and is reported.
 */
import { statSync } from 'node:fs';
import { ObservatoryError, warnVisibly } from '../base/index.ts';
import { Policy } from './policy.ts';
import { type LoadedPolicy, readPolicy, readPolicyFile } from './policy-file.ts';

/** Where a policy comes from: a path, or the policy itself (parsed). */
export type PolicyInput = string | object;

/** Called after each reload with the new policy, or with why the file could not be used. */
export type ReloadListener = (
  outcome: { readonly policy: Policy } | { readonly problem: ObservatoryError },
) => void;

export class PolicySource {
  readonly #input: PolicyInput;
  #policy: Policy | undefined;
  #problem: ObservatoryError | undefined;
  #stamp = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(input: PolicyInput) {
    this.#input = input;
    this.reload();
  }

  /** The policy in force; undefined while there is none, which denies everything. */
  get policy(): Policy | undefined {
    return this.#policy;
  }

  /** Why the policy, or its last change, cannot be used. */
  get problem(): ObservatoryError | undefined {
    return this.#problem;
  }

  /** Reads the policy again. On failure the old one stays in force, if there is one. @returns true when it was read. */
  reload(): boolean {
    this.#stamp = this.#readStamp();
    try {
      const loaded = this.#load();
      if (loaded.hash !== this.#policy?.hash) this.#policy = new Policy(loaded);
      this.#problem = undefined;
      return true;
    } catch (cause) {
      this.#problem = asInvalid(cause);
      const { message } = this.#problem;
      const denied = message.includes('everything is denied') ? '' : ' (everything is denied)';
      const state = this.#policy === undefined ? denied : ' (the policy before it stays in force)';
      warnVisibly(`mcp-observatory: ${message}${state}`);
      return false;
    }
  }

  /** Checks the file for changes every `intervalMs` milliseconds. The timer does not keep the process alive. */
  watch(intervalMs: number, listener: ReloadListener): void {
    if (typeof this.#input !== 'string' || this.#timer !== undefined) return;
    this.#timer = setInterval(() => {
      if (this.#readStamp() === this.#stamp) return;
      const isRead = this.reload();
      if (isRead && this.#policy !== undefined) listener({ policy: this.#policy });
      else if (this.#problem !== undefined) listener({ problem: this.#problem });
    }, intervalMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #load(): LoadedPolicy {
    return typeof this.#input === 'string' ? readPolicyFile(this.#input) : readPolicy(this.#input);
  }

  /** Identity of the file according to the file system; a replaced file has another inode. */
  #readStamp(): string {
    if (typeof this.#input !== 'string') return '';
    try {
      const { mtimeMs, size, ino } = statSync(this.#input);
      return `${mtimeMs}/${size}/${ino}`;
    } catch {
      return 'missing';
    }
  }
}

function asInvalid(cause: unknown): ObservatoryError {
  if (ObservatoryError.isInstance(cause)) return cause;
  return new ObservatoryError('POLICY_INVALID', `The policy cannot be used: ${(cause as Error).message}`, {
    cause,
  });
}
