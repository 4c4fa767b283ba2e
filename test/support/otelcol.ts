/** The real OpenTelemetry Collector, built from collector/builder-config.yaml, as a process of its own. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** The configuration that is shipped, and the one that lets content through to our service. */
export const SHIPPED = join(ROOT, 'otel-collector.yaml');
export const WITH_CONTENT = join(ROOT, 'collector/with-content.yaml');
/** Adds the Collector's own ClickHouse exporter. */
export const WITH_CLICKHOUSE = join(ROOT, 'collector/clickhouse.yaml');
/** The layer before it in a fleet, which sends on by trace id. */
export const GATEWAY = join(ROOT, 'collector/gateway.yaml');

/** Why there can be no Collector here, for `skip`; `false` when there can. CI must build it. */
export function noOtelcol(): string | false {
  if (process.env.CI || spawnSync('go', ['version']).status === 0) return false;
  return 'Go, which builds the Collector, is not installed';
}

/** Path of the binary; the first call on a machine builds it, for minutes. */
export async function otelcolBinary(): Promise<string> {
  const built = await promisify(execFile)(join(ROOT, 'scripts/build-collector.sh'), { maxBuffer: 1 << 26 });
  return built.stdout.trim();
}

export interface OtelcolOptions {
  /** What it runs. @defaultValue {@link SHIPPED} */
  readonly base?: string;
  /** Where the APM leg goes. */
  readonly apm?: string;
  /** Where the leg of every span goes. */
  readonly observatory?: string;
  /** An empty folder for the queues, or that of a Collector that ended. */
  readonly folder: string;
  /** Files besides the first one, or settings as `yaml:a::b: value`. */
  readonly configs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Otelcol extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly http: string;
  readonly grpc: string;
  readonly log: () => string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again on the same ports and queues. */
  restart(): Promise<void>;
}

/** Checks configurations as `otelcol validate` does. @throws with what it said. */
export async function validateConfig(
  configs: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const args = ['validate', ...configs.flatMap((config) => ['--config', config])];
  await promisify(execFile)(await otelcolBinary(), args, { env: { ...process.env, ...env } });
}

/** Starts the Collector with the shipped configuration on free ports, and waits until it is healthy. */
export async function startOtelcol(options: OtelcolOptions): Promise<Otelcol> {
  const binary = await otelcolBinary();
  const [httpPort, grpcPort, healthPort] = [await freePort(), await freePort(), await freePort()];
  const here = (path: string, port: number) => `yaml:${path}::endpoint: 127.0.0.1:${port}`;
  const configs = [
    options.base ?? SHIPPED,
    ...(options.configs ?? []),
    here('receivers::otlp::protocols::http', httpPort),
    here('receivers::otlp::protocols::grpc', grpcPort),
    here('extensions::health_check', healthPort),
    'yaml:service::telemetry::metrics::level: none',
  ];
  // A receiver that comes back is found soon.
  if (options.base === undefined) {
    configs.push('yaml:exporters::otlp_http/observatory::retry_on_failure::max_interval: 1s');
  }
  const queue = join(options.folder, 'queue');
  mkdirSync(queue, { recursive: true });
  const env = {
    PATH: process.env.PATH ?? '',
    APM_OTLP_ENDPOINT: options.apm ?? '',
    OBSERVATORY_OTLP_ENDPOINT: options.observatory ?? '',
    COLLECTOR_QUEUE_DIR: queue,
    APM_DECISION_WAIT: '1s',
    ...options.env,
  };
  const run = async () => {
    const args = configs.flatMap((config) => ['--config', config]);
    const child = spawn(binary, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-20_000);
    });
    try {
      await untilHealthy(child, `http://127.0.0.1:${healthPort}/`);
    } catch (error) {
      child.kill('SIGKILL');
      throw new Error(`The Collector did not start:\n${log}`, { cause: error });
    }
    return child;
  };
  let log = '';
  let child = await run();
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    get child() {
      return child;
    },
    http: `http://127.0.0.1:${httpPort}`,
    grpc: `http://127.0.0.1:${grpcPort}`,
    log: () => log,
    kill,
    restart: async () => {
      child = await run();
    },
    [Symbol.asyncDispose]: kill,
  };
}

async function untilHealthy(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    if (Date.now() > deadline) throw new Error(`${url} is not healthy`);
    await sleep(50);
  }
}
