/** The package as it is published, installed in an application: its commands, its entries, and programs that load it. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Consumers, environmentIn, ROOT } from './consumer.ts';
import { outcomeOf, type ProgramOutcome } from './programs.ts';

/** What the entries and commands need. */
const PACKAGES = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/sdk-trace-node@2.12.0',
  '@opentelemetry/exporter-trace-otlp-http@0.223.0',
  '@modelcontextprotocol/sdk@1.32.2',
  '@electric-sql/pglite@0.5',
  'openai@6.49',
  'pg@8.23',
];

/** Large packages that some commands need, as those of this repository. */
const LINKED = ['@duckdb', '@modelcontextprotocol/server'];

interface CommandOutcome {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

export class Installed implements AsyncDisposable {
  /** Where the package is installed; in a run of all tests for all files of them. */
  readonly #application: string;
  /** A folder in it, for the programs of one file of tests, and beside it what they keep. */
  readonly #folder: string;
  readonly #kept = mkdtempSync(join(tmpdir(), 'observatory-installed-'));
  readonly #consumers: Consumers | undefined;
  #programs = 0;

  private constructor(application: string, consumers?: Consumers) {
    this.#application = application;
    this.#folder = mkdtempSync(join(application, 'programs-'));
    this.#consumers = consumers;
  }

  static async start(): Promise<Installed> {
    const templates = process.env.OBSERVATORY_TEST_TEMPLATES;
    const shared = templates === undefined ? undefined : join(templates, 'application');
    if (shared !== undefined && existsSync(shared)) return new Installed(shared);
    const consumers = await Consumers.pack();
    const application = await consumers.install('application', PACKAGES);
    for (const name of LINKED)
      symlinkSync(join(ROOT, 'node_modules', name), join(application, 'node_modules', name));
    if (shared === undefined) return new Installed(application, consumers);
    try {
      renameSync(application, shared);
    } catch {
      // Another file of tests was faster.
    }
    await consumers[Symbol.asyncDispose]();
    return new Installed(shared);
  }

  /** The path of a file of the package. */
  path(name: string): string {
    return join(this.#application, 'node_modules/mcp-observatory', name);
  }

  get cli(): string {
    return this.path('dist/lib/cli.js');
  }

  get env(): NodeJS.ProcessEnv {
    return environmentIn(this.#kept);
  }

  /** Imports an entry into this process. */
  async entry<T>(name: string): Promise<T> {
    return (await import(pathToFileURL(this.path(`dist/lib/${name}.js`)).href)) as T;
  }

  /** Runs a command to its end. */
  command(...args: readonly string[]): Promise<CommandOutcome> {
    return new Promise((resolve) => {
      const options = { cwd: this.#folder, env: this.env };
      execFile(process.execPath, [this.cli, ...args], options, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  }

  /** Runs a program of the application to its end. */
  program(code: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<ProgramOutcome> {
    this.#programs += 1;
    const file = join(this.#folder, `program-${this.#programs}.mjs`);
    writeFileSync(file, code);
    const child = spawn(process.execPath, [...flags, file], {
      cwd: this.#folder,
      env: { ...this.env, ...env },
    });
    child.stdin.end();
    return outcomeOf(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const folder of [this.#folder, this.#kept]) rmSync(folder, { recursive: true, force: true });
    await this.#consumers?.[Symbol.asyncDispose]();
  }
}
