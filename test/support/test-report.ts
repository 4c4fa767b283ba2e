import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { GroupMessage } from './group-reporter.ts';

type Ended = Extract<GroupMessage, { kind: 'ended' }>;

interface Failure {
  readonly name: string;
  readonly file: string;
  readonly reason: string;
  readonly output: string;
}

/** Counts the tests of a run and prints what happened, a line for each file. */
export class TestReport {
  readonly #out: { write(text: string): unknown };
  readonly #startedAt = performance.now();
  #failures: Failure[] = [];
  /** What failed beside other tests and passed alone. */
  #unsteady: Failure[] = [];
  readonly #skipped: string[] = [];
  /** Tests that have ended, of each file. */
  readonly #tests = new Map<string, number>();
  #passes = 0;

  constructor(out: { write(text: string): unknown }) {
    this.#out = out;
  }

  get passed(): boolean {
    return this.#failures.length === 0;
  }

  get passes(): number {
    return this.#passes;
  }

  /** Each with its reason. */
  get skipped(): readonly string[] {
    return this.#skipped;
  }

  /** Each with its error. */
  get failures(): readonly string[] {
    return this.#failures.map(({ name, reason }) => `${name}: ${reason}`);
  }

  get failedFiles(): readonly string[] {
    return [...new Set(this.#failures.map(({ file }) => file))];
  }

  /** Takes back the failures of a file that has passed in a run of its own. They are still printed. */
  passedAlone(file: string): void {
    this.#unsteady = [...this.#unsteady, ...this.#failures.filter((one) => one.file === file)];
    this.#failures = this.#failures.filter((one) => one.file !== file);
  }

  /** A test, a `describe` or a file has ended. */
  ended({ path, suite, outcome, reason, durationMs }: Ended, output: string): void {
    const [file = '', ...rest] = path;
    const name = path.join(' > ');
    if (!suite || outcome === 'skipped') {
      this.#tests.set(file, (this.#tests.get(file) ?? 0) + 1);
      if (outcome === 'passed') this.#passes += 1;
      if (outcome === 'skipped') this.#skipped.push(`${name}: ${reason}`);
    }
    if (outcome === 'failed' && reason !== undefined) this.failed(name, reason, output);
    if (rest.length > 0) return;
    const tests = this.#tests.get(file) ?? 0;
    this.#tests.set(file, tests);
    const isEmpty = tests === 0 && outcome !== 'failed';
    const mark = outcome === 'failed' || isEmpty ? '✖' : '✔';
    this.#out.write(`${mark} ${file} (${tests} tests, ${(durationMs / 1000).toFixed(1)} s)\n`);
    if (isEmpty) this.failed(file, 'has no tests', output);
  }

  /** Something else than a test has failed. */
  failed(name: string, reason: string, output: string): void {
    const [file = ''] = name.split(' > ');
    this.#failures.push({ name, file, reason: withSourcePositions(reason), output });
    this.#out.write(`✖ ${name}\n`);
  }

  note(text: string): void {
    this.#out.write(`  ${text}\n`);
  }

  /** Prints the failures and the totals, and returns whether tests ran and none failed. */
  finish(): boolean {
    for (const failure of this.#failures) this.#print(failure, '✖');
    for (const failure of this.#unsteady)
      this.#print(failure, 'Unsteady: passed alone, failed beside others:');
    for (const one of this.#skipped) this.#out.write(`Skipped: ${one}\n`);
    const tests = [...this.#tests.values()].reduce((sum, count) => sum + count, 0);
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1);
    const unsteady = this.#unsteady.length > 0 ? `${this.#unsteady.length} unsteady, ` : '';
    this.#out.write(
      `${tests} tests in ${this.#tests.size} files: ${this.#passes} passed, ${this.#failures.length} failures, ` +
        `${unsteady}${this.#skipped.length} skipped; ${seconds} s\n`,
    );
    if (tests === 0) this.#out.write('No test ran\n');
    return tests > 0 && this.passed;
  }

  #print({ name, reason, output }: Failure, mark: string): void {
    const said = output.trim() === '' ? '' : `\nIts process printed:\n${output.trim()}\n`;
    this.#out.write(`\n${mark} ${name}\n${reason}\n${said}`);
  }
}

/** Puts positions in the sources in place of those in the compiled files. Tests run without maps, which take time. */
function withSourcePositions(stack: string): string {
  return stack.replace(
    /(?:file:\/\/)?(\/[^\s():]+\.js):(\d+):(\d+)/g,
    (position, path: string, line, column) => {
      if (!existsSync(`${path}.map`)) return position;
      const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
      const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
      if (!('originalSource' in entry)) return position;
      const source = fileURLToPath(new URL(entry.originalSource, pathToFileURL(path)));
      return `${relative(process.cwd(), source)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    },
  );
}
