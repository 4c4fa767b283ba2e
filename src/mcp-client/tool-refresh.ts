import { diag } from '@opentelemetry/api';

/** Reads the tools of a server again when it announces that they changed. */
export class ToolRefresh {
  readonly #server: string;
  readonly #refresh: () => Promise<void>;
  #underWay: Promise<void> | undefined;
  #again = false;

  constructor(server: string, refresh: () => Promise<void>) {
    this.#server = server;
    this.#refresh = refresh;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** Resolves when every announced change has been read, or could not be. Never rejects. */
  async settled(): Promise<void> {
    while (this.#underWay !== undefined) await this.#underWay;
  }

  /** One refresh at a time; a change during one is followed by one more, however many came. */
  schedule(): void {
    if (this.#underWay !== undefined) {
      this.#again = true;
      return;
    }
    this.#underWay = this.#refresh()
      .catch((error: unknown) =>
        diag.warn(`mcp-observatory: reading the changed tools of "${this.#server}" failed`, error),
      )
      .finally(() => {
        this.#underWay = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.schedule();
      });
  }
}
