import { sliced } from '../base/index.ts';
import { toJsonText } from '../json/index.ts';
import { type Conflict, Conflicts } from './conflicts.ts';
import type { RunError, ToolChainEntry } from './result.ts';

/** What a run has done and said so far, and what went wrong. */
export class RunLog {
  readonly chain: ToolChainEntry[] = [];
  readonly errors: RunError[] = [];
  readonly conflicts: Conflicts = new Conflicts();
  serversConnected = 0;
  /** Turns of the model so far. */
  iterations = 0;
  /** Attempts to recover: recovery prompts, one per failed call, and automatic retries. */
  backtracks = 0;
  readonly #turn = sliced();
  #lastWords: { readonly text: string; readonly iteration: number } = { text: '', iteration: 0 };

  /** Takes note of a text the model gave beside or instead of calls. */
  says(text: string): void {
    if (text !== '') this.#lastWords = { text, iteration: this.iterations };
  }

  /** @returns what the results of this report disagree about with earlier ones. */
  async add(report: {
    readonly entries: readonly ToolChainEntry[];
    readonly retried: readonly RunError[];
    readonly server?: string | undefined;
  }): Promise<readonly Conflict[]> {
    this.chain.push(...report.entries);
    this.errors.push(...report.retried);
    this.backtracks += report.retried.length;
    const found: Conflict[] = [];
    for (const entry of report.entries) {
      found.push(...this.conflicts.add(entry, report.server));
      await this.#turn();
    }
    return found;
  }

  fail(toolName: string, error: string, recovering = false): void {
    if (recovering) this.backtracks += 1;
    this.note(toolName, error, recovering ? 'retry_with_modified_arguments' : null);
  }

  note(toolName: string, error: string, recoveryAction: RunError['recoveryAction']): void {
    this.errors.push({ iteration: this.iterations, toolName, error, recoveryAction });
  }

  /** What can be said without asking the model again: its last words, and the latest good result since. */
  known(): string | null {
    const parts = [this.#lastWords.text];
    const latest = this.chain.findLast((entry) => entry.success);
    if (latest !== undefined && latest.iteration >= this.#lastWords.iteration) {
      parts.push(typeof latest.result === 'string' ? latest.result : (toJsonText(latest.result) ?? ''));
    }
    return parts.filter((part) => part !== '').join('\n\n') || null;
  }
}
