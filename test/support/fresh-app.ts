/** Applications made for a test: the packed package beside what a user would install, run with `--import`. */
import { execFile, spawn } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Consumers, NODE_24, ROOT } from './consumer.ts';
import { type CollectedSpan, OtlpCollector } from './otlp-collector.ts';
import { outcomeOf, type ProgramOutcome } from './programs.ts';
import { ProviderServer } from './provider-server.ts';
import { answerWithTool } from './tool-provider.ts';

/** What every application has beside its framework. */
const OPENTELEMETRY = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/sdk-trace-node@2.12.0',
  '@opentelemetry/exporter-trace-otlp-http@0.223.0',
  '@opentelemetry/sdk-metrics@2.12.0',
  '@opentelemetry/exporter-metrics-otlp-http@0.223.0',
];

export const REGISTER = ['--import', 'mcp-observatory/register'] as const;

interface AppRun extends ProgramOutcome {
  readonly spans: readonly CollectedSpan[];
  /** Names of the metrics that were exported. */
  readonly metrics: readonly string[];
}

interface RunOptions {
  /** A command instead of this Node. */
  readonly node?: string | undefined;
  /** Flags before the program. @defaultValue `REGISTER` */
  readonly flags?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export class FreshApps implements AsyncDisposable {
  readonly collector: OtlpCollector;
  readonly provider: ProviderServer;
  readonly #consumers: Consumers;

  private constructor(consumers: Consumers, collector: OtlpCollector, provider: ProviderServer) {
    this.#consumers = consumers;
    this.collector = collector;
    this.provider = provider;
  }

  static async start(): Promise<FreshApps> {
    const [consumers, collector, provider] = await Promise.all([
      Consumers.pack(),
      OtlpCollector.start(),
      ProviderServer.start(answerWithTool),
    ]);
    return new FreshApps(consumers, collector, provider);
  }

  /** Makes an application with these packages and the programs of `test/fixtures/frames`. */
  async install(name: string, packages: readonly string[]): Promise<string> {
    const folder = await this.#consumers.install(name, [...OPENTELEMETRY, ...packages], false);
    await cp(join(ROOT, 'test/fixtures/frames'), folder, { recursive: true });
    return folder;
  }

  /** Runs a program to its end and gives what it printed and exported. */
  async run(folder: string, program: string, options: RunOptions = {}): Promise<AppRun> {
    this.collector.spans.length = 0;
    this.collector.points.length = 0;
    const child = spawn(options.node ?? process.execPath, [...(options.flags ?? REGISTER), program], {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        OPENAI_API_KEY: 'sk-none',
        OPENAI_BASE_URL: `${this.provider.url}/v1`,
        OTEL_SERVICE_NAME: 'app',
        OTEL_EXPORTER_OTLP_ENDPOINT: this.collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '100',
        ...options.env,
      },
    });
    child.stdin.end();
    const outcome = await outcomeOf(child);
    const metrics = [...new Set(this.collector.points.map(({ metric }) => metric))].sort();
    return { ...outcome, spans: [...this.collector.spans], metrics };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.collector[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
    await this.#consumers[Symbol.asyncDispose]();
  }
}

/** The binary of Node 24, which some frameworks need, fetched through npm. */
export async function node24(): Promise<string> {
  const [npx, ...rest] = NODE_24;
  const { stdout } = await promisify(execFile)(npx, [...rest, '-p', 'process.execPath']);
  return stdout.trim();
}
