import { once } from 'node:events';
import { type Collector, openMetrics, startCollector } from '../collector/index.ts';
import { useStderrDiag } from '../setup/registration/index.ts';
import { readCollectOptions } from './collect-options.ts';
import { type Command, type CommandIo, EXIT_OK } from './command.ts';

const HELP = `Usage: mcp-observatory collect [options]

Takes spans over OTLP (HTTP with protobuf or JSON, and gRPC) from any language, computes what the in-process
processor computes, and writes them to the table mcp_traces. A request is answered with success once its spans
stand in Postgres or, forced to the disk, in the spool.

Where to listen
  --http HOST:PORT       OTLP/HTTP, /healthz and /readyz (default 127.0.0.1:4318; off for none); MCP_OBSERVATORY_HTTP
  --grpc HOST:PORT       OTLP/gRPC (default 127.0.0.1:4317; off for none); MCP_OBSERVATORY_GRPC
  --health HOST:PORT     /healthz and /readyz once more, without TLS (default none)

Where spans go
  --database-url URL     Postgres; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --no-migrate           do not create or update the tables
  --connections N        connections to Postgres (default 4)
  --spool DIR            keep spans here while Postgres is out of order; MCP_OBSERVATORY_SPOOL
                         (default none: senders are told to come again)
  --spool-size SIZE      beyond it senders are told to come again (default 1g)
  --forward URL          also send stored spans on over OTLP/HTTP, e.g. http://apm:4318/v1/traces;
                         MCP_OBSERVATORY_FORWARD_URL; headers from OTEL_EXPORTER_OTLP_HEADERS
  --capture-content      keep prompts, answers and error texts that senders put on spans (default: hashed, scored
                         and removed); OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT

Who may send
  --token-file FILE      bearer tokens, one a line, any of which will do; or one in MCP_OBSERVATORY_TOKEN
  --tls-cert FILE --tls-key FILE   TLS on both ports
  --tls-client-ca FILE   ask for client certificates of this authority (mutual TLS)
  --insecure             listen beyond this machine although anybody may send

Bounds; what does not fit is refused with 413, or told to come again with 429 or 503 (SIZE: bytes, or 512k, 20m, 1g)
  --max-body SIZE        of a request, packed and unpacked (default 20m)
  --max-spans N          of a request (default 50000)
  --max-requests N       under way at the same time (default 256)
  --max-memory SIZE      held by requests under way (default 64m)
  --max-waiting N        spans held by requests under way (default 65536)
  --drain-timeout SEC    longest wait for them at SIGTERM (default 25)

  --metrics-url URL      the collector's own metrics, OTLP/HTTP; OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
  --json                 print the ready line as JSON
  --help

Runs until SIGTERM or SIGINT; then it answers what is under way and ends. A second signal ends it at once.`;

/** `mcp-observatory collect`: the OTLP service. */
export const collectCommand: Command = {
  name: 'collect',
  summary: 'Take spans of any language over OTLP, enrich them and write them to Postgres',
  help: HELP,
  run: async (args, io) => {
    const { options, metricsUrl, json } = await readCollectOptions(args, io.env);
    useStderrDiag(io.env.OTEL_LOG_LEVEL);
    const listening = new AbortController();
    const stopped = untilStopped(listening);
    const metrics = metricsUrl === undefined ? undefined : await openMetrics(metricsUrl);
    const collector = await startCollector({ ...options, meterProvider: metrics?.meterProvider }).catch(
      (error) => {
        listening.abort();
        throw error;
      },
    );
    io.stdout.write(`${json ? readyJson(collector) : readyText(collector, options.spool)}\n`);
    await stopped;
    await collector.close();
    await metrics?.close();
    const { received, exported, spooled, refused } = collector.stats;
    io.stderr.write(
      `mcp-observatory collect: stopped; ${received} spans taken, ${exported} written, ${spooled} put on disk, ${refused} refused\n`,
    );
    return EXIT_OK;
  },
};

/** The first signal shuts the service down gracefully, the second ends it at once. */
async function untilStopped(listening: AbortController): Promise<void> {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  await Promise.race(
    signals.map((name) => once(process, name, { signal: listening.signal }).catch(() => {})),
  );
  listening.abort();
}

function readyJson({ httpUrl, grpcAddress, healthUrl, database }: Collector): string {
  return JSON.stringify({ ready: true, http: httpUrl, grpc: grpcAddress, health: healthUrl, database });
}

function readyText(collector: Collector, spool: CommandIo['env'][string]): string {
  const { httpUrl = 'off', grpcAddress = 'off', healthUrl, database } = collector;
  const health = healthUrl === undefined ? '' : ` health ${healthUrl}`;
  return `mcp-observatory collect: ready http ${httpUrl} grpc ${grpcAddress}${health} database ${database} spool ${spool ?? 'none'}`;
}
