/** The package as it is published, installed in an application: its commands, its entries, and programs that load it. */
import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Consumers } from './consumer.ts';
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

interface CommandOutcome {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

export class Installed implements AsyncDisposable {
  readonly #consumers: Consumers;
  readonly #folder: string;
  #programs = 0;

  private constructor(consumers: Consumers, folder: string) {
    this.#consumers = consumers;
    this.#folder = folder;
  }

  static async start(): Promise<Installed> {
    const consumers = await Consumers.pack();
    return new Installed(consumers, await consumers.install('application', PACKAGES));
  }

  /** The path of a file of the package. */
  path(name: string): string {
    return join(this.#folder, 'node_modules/mcp-observatory', name);
  }

  get cli(): string {
    return this.path('dist/lib/cli.js');
  }

  get env(): NodeJS.ProcessEnv {
    return this.#consumers.env;
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
    await this.#consumers[Symbol.asyncDispose]();
  }
}
