/** Applications made for a test: the packed package beside what a user would install, run with `--import`. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startCollector } from '../../src/collector/index.ts';
import { Consumers, nodeOf, ROOT } from './consumer.ts';
import { type CollectedSpan, OtlpCollector } from './otlp-collector.ts';
import { noPostgres, type PostgresServer, startPostgres } from './postgres-server.ts';
import { outcomeOf, PATIENT, type ProgramOutcome } from './programs.ts';
import { ProviderServer } from './provider-server.ts';
import { answerWithTool } from './tool-provider.ts';
import { waitUntil } from './wait-until.ts';

/** A program that does not end is ended, so that its test fails and the others run. */
const MAX_RUN_MS = 240_000;

/** What every application has beside its framework. */
const OPENTELEMETRY = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/sdk-trace-node@2.12.0',
  '@opentelemetry/exporter-trace-otlp-http@0.223.0',
  '@opentelemetry/sdk-metrics@2.12.0',
  '@opentelemetry/exporter-metrics-otlp-http@0.223.0',
  'pg@8.23.1',
];

/** Every framework and other observability package that programs of `test/fixtures/frames` load, each in one version. */
const FRAMES = [
  // They disagree on the versions of their optional peers.
  '--legacy-peer-deps',
  'ai@7',
  '@ai-sdk/openai@4',
  '@ai-sdk/mcp@2',
  '@langchain/core@1',
  '@langchain/langgraph@1',
  '@langchain/openai@1.5',
  '@langchain/mcp-adapters@1',
  '@mastra/core@1.71.0',
  '@mastra/mcp@2.0.0',
  '@mastra/observability@1.17.9',
  '@modelcontextprotocol/sdk@1',
  '@openai/agents@0',
  'express@5',
  'fastmcp@4',
  'openai@6',
  'zod@4',
  'dd-trace@6',
  '@sentry/node@11',
  '@arizeai/openinference-instrumentation-langchain@4',
  '@arizeai/openinference-instrumentation-openai@4',
  '@arizeai/openinference-instrumentation-openai-agents@0',
  '@opentelemetry/instrumentation@0.223.0',
  '@opentelemetry/instrumentation-http@0.223.0',
  '@traceloop/node-server-sdk@0',
];
/** How long a file of tests waits for another one that installs them. */
const INSTALL_MS = 300_000;

const ANYWHERE = { host: '127.0.0.1', port: 0 };

export const REGISTER = ['--import', 'mcp-observatory/register'] as const;

/** What plain sums over `mcp_traces` give. */
export interface StoredSums {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costUsd: number;
  /** Spans of ours for a request to a model. */
  readonly chats: number;
  /** Traces with such spans, and spans of ours in them that have no parent. */
  readonly runs: number;
  readonly roots: number;
  /** Spans of ours for a call of a tool, of both sides. */
  readonly toolCalls: number;
  /** Who called whose tool: `client > server`, each once, of both sides of each call. */
  readonly callers: readonly string[];
}

interface AppRun extends ProgramOutcome {
  /** Each once: what is on its way at a sudden exit may be sent again. */
  readonly spans: readonly CollectedSpan[];
  /** With the option `isStored`. */
  readonly sums?: StoredSums | undefined;
  /** Names of the metrics that were exported. */
  readonly metrics: readonly string[];
}

interface RunOptions {
  /** A command instead of this Node. */
  readonly node?: string | undefined;
  /** Flags before the program. @defaultValue `REGISTER` */
  readonly flags?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether spans are written to a database too, where there is one: by the application itself, or by a service that
   * receives them at `STORE_URL`.
   */
  readonly isStored?: boolean | 'by service' | undefined;
}

export class FreshApps implements AsyncDisposable {
  readonly collector: OtlpCollector;
  readonly provider: ProviderServer;
  readonly #consumers: Consumers;
  #postgres: Promise<PostgresServer> | undefined;

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

  /** The packed package. */
  get tarball(): string {
    return this.#consumers.tarball;
  }

  /** Makes an application with these packages and the programs of `test/fixtures/frames`. */
  async install(name: string, packages: readonly string[]): Promise<string> {
    const folder = await this.#consumers.install(name, [...OPENTELEMETRY, ...packages], false);
    await cp(join(ROOT, 'test/fixtures/frames'), folder, { recursive: true });
    return folder;
  }

  /**
   * An application with all frameworks and other observability packages: what is not loaded does nothing. Its packages
   * are installed once in a run of all tests; its folder is this file's own.
   */
  async frames(): Promise<string> {
    const folder = await mkdtemp(join(await this.#installedFrames(), 'app-'));
    await cp(join(ROOT, 'test/fixtures/frames'), folder, { recursive: true });
    return folder;
  }

  async #installedFrames(): Promise<string> {
    const install = () => this.#consumers.install('frames', [...OPENTELEMETRY, ...FRAMES], false);
    const templates = process.env.OBSERVATORY_TEST_TEMPLATES;
    if (templates === undefined) return install();
    const shared = join(templates, 'frames');
    const lock = `${shared}.lock`;
    const isLocked = () =>
      mkdir(lock).then(
        () => true,
        () => false,
      );
    await waitUntil(isLocked, INSTALL_MS);
    try {
      if (!existsSync(shared)) await rename(await install(), shared);
    } finally {
      await rmdir(lock);
    }
    return shared;
  }

  /** Runs a program to its end and gives what it printed and exported. */
  async run(folder: string, program: string, options: RunOptions = {}): Promise<AppRun> {
    this.collector.spans.length = 0;
    this.collector.points.length = 0;
    const database = options.isStored ? await this.#database() : undefined;
    const service =
      database === undefined || options.isStored !== 'by service'
        ? undefined
        : await startCollector({ databaseUrl: database, http: ANYWHERE, grpc: false, health: ANYWHERE });
    const child = spawn(options.node ?? process.execPath, [...(options.flags ?? REGISTER), program], {
      cwd: folder,
      timeout: MAX_RUN_MS,
      killSignal: 'SIGKILL',
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        OPENAI_API_KEY: 'sk-none',
        OPENAI_BASE_URL: `${this.provider.url}/v1`,
        ANTHROPIC_API_KEY: 'sk-none',
        ANTHROPIC_BASE_URL: this.provider.url,
        // The Claude Agent SDK asks nobody but the model.
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        OTEL_SERVICE_NAME: 'app',
        OTEL_EXPORTER_OTLP_ENDPOINT: this.collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '100',
        ...PATIENT,
        ...(service === undefined ? {} : { STORE_URL: service.httpUrl ?? '' }),
        ...(database === undefined || service !== undefined
          ? {}
          : { MCP_OBSERVATORY_DATABASE_URL: database, OTEL_TRACES_EXPORTER: 'otlp' }),
        ...options.env,
      },
    });
    child.stdin.end();
    const outcome = await outcomeOf(child);
    await service?.close();
    const sums = database === undefined ? undefined : await sumsIn(database);
    const metrics = [...new Set(this.collector.points.map(({ metric }) => metric))].sort();
    const spans = [...new Map(this.collector.spans.map((span) => [span.spanId, span])).values()];
    return { ...outcome, spans, metrics, sums };
  }

  /** The URL of an empty database; `undefined` where there is no PostgreSQL. */
  async #database(): Promise<string | undefined> {
    if (noPostgres() !== false) return undefined;
    this.#postgres ??= startPostgres();
    return (await this.#postgres).createMigrated();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.collector[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
    await (await this.#postgres)?.stop();
    await this.#consumers[Symbol.asyncDispose]();
  }
}

/** The binary of Node 24, which some frameworks need, fetched through npm. */
export async function node24(): Promise<string> {
  return nodeOf(24);
}

async function sumsIn(connectionString: string): Promise<StoredSums> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(`
    SELECT coalesce(sum(prompt_tokens), 0)::int AS "promptTokens",
           coalesce(sum(completion_tokens), 0)::int AS "completionTokens",
           coalesce(sum(cost_usd), 0)::float AS "costUsd",
           (count(*) FILTER (WHERE is_ours AND span_name LIKE 'chat%'))::int AS chats,
           (count(DISTINCT trace_id) FILTER (WHERE is_run))::int AS runs,
           (count(*) FILTER (WHERE is_run AND is_ours AND parent_span_id IS NULL))::int AS roots,
           (count(*) FILTER (WHERE is_ours AND method = 'tools/call'))::int AS "toolCalls",
           coalesce(array_agg(DISTINCT coalesce(client_name, '?') || ' > ' || coalesce(server_name, '?'))
             FILTER (WHERE is_ours AND method = 'tools/call'), '{}')
             AS callers
    FROM (SELECT *, scope LIKE 'mcp-observatory/%' AS is_ours,
                 bool_or(scope LIKE 'mcp-observatory/%' AND span_name LIKE 'chat%') OVER (PARTITION BY trace_id)
                   AS is_run
          FROM mcp_traces) AS spans`);
  await client.end();
  return rows[0] as StoredSums;
}
