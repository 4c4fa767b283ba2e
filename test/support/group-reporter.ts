import { Transform } from 'node:stream';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** What a process of tests tells the runner. A file is a test at the top; `path` leads from it to the test. */
export type GroupMessage =
  | { readonly kind: 'started'; readonly path: readonly string[] }
  | {
      readonly kind: 'ended';
      readonly path: readonly string[];
      readonly outcome: 'passed' | 'failed' | 'skipped';
      /** A group of tests: a file or a `describe`. */
      readonly suite: boolean;
      readonly durationMs: number;
      /** Why it was skipped, or the error; absent where only tests inside failed, which were reported. */
      readonly reason?: string | undefined;
    }
  | { readonly kind: 'note'; readonly text: string }
  /** All files have ended, and these things keep the process alive. */
  | { readonly kind: 'open'; readonly text: string };

/** Sends each event of the tests of this process to the process that started it. */
class GroupReporter extends Transform {
  /** Where the events are that come in the order of the report, and where the tests are that run. */
  readonly #path: string[] = [];
  readonly #running: string[] = [];

  constructor() {
    super({ writableObjectMode: true });
  }

  override _transform(event: TestEvent, _encoding: BufferEncoding, done: () => void): void {
    const message = this.#messageOf(event);
    if (message !== undefined) process.send?.(message);
    done();
  }

  #messageOf({ type, data }: TestEvent): GroupMessage | undefined {
    switch (type) {
      case 'test:dequeue':
        this.#running.splice(data.nesting, Number.POSITIVE_INFINITY, data.name);
        return { kind: 'started', path: [...this.#running] };
      case 'test:start':
        this.#path.splice(data.nesting, Number.POSITIVE_INFINITY, data.name);
        return undefined;
      case 'test:pass': {
        const skipped = data.skip !== undefined && data.skip !== false;
        return {
          ...this.#ended(data),
          outcome: skipped ? 'skipped' : 'passed',
          ...(skipped && { reason: String(data.skip) }),
        };
      }
      case 'test:fail': {
        if (data.todo !== undefined && data.todo !== false) {
          return { ...this.#ended(data), outcome: 'skipped', reason: 'not done yet' };
        }
        const { error } = data.details;
        const isReported = 'failureType' in error && error.failureType === 'subtestsFailed';
        const reason = isReported ? undefined : inspect(error.cause ?? error, { depth: 6 });
        return { ...this.#ended(data), outcome: 'failed', reason };
      }
      case 'test:diagnostic': {
        // At the top are the totals, which the runner counts itself, and errors that belong to no running test.
        const isTotal = data.nesting === 0 && /^[a-z_]+ [\d.]+$/.test(data.message);
        return isTotal ? undefined : { kind: 'note', text: data.message };
      }
      default:
        return undefined;
    }
  }

  #ended({ nesting, name, details }: Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>['data']) {
    const path = [...this.#path.slice(0, nesting), name];
    return {
      kind: 'ended' as const,
      path,
      suite: details.type === 'suite',
      durationMs: details.duration_ms,
    };
  }
}

// biome-ignore lint/style/noDefaultExport: `--test-reporter` takes a module's default export
export default new GroupReporter();
