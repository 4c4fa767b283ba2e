import { useStderrDiag } from '../base/index.ts';
import { type Collector, openMetrics, startCollector } from '../collector/index.ts';
import { readCollectOptions } from './collect-options.ts';
import { type Command, type CommandIo, EndingSignal, EXIT_OK, print } from './command-line/index.ts';
import { printableLine } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory collect [options]

Takes spans of any language over OTLP (HTTP with protobuf or JSON, and gRPC), enriches them, and stores them in
mcp_traces. The log events of Claude Code, Codex and Gemini CLI become spans; metrics are accepted and not stored.
A request succeeds once its spans are in the database or synced to the spool.

Where to listen
  --http HOST:PORT       OTLP/HTTP, /healthz and /readyz (default 127.0.0.1:4318; off for none); MCP_OBSERVATORY_HTTP
  --grpc HOST:PORT       OTLP/gRPC (default 127.0.0.1:4317; off for none); MCP_OBSERVATORY_GRPC
  --health HOST:PORT     additional /healthz and /readyz, without TLS (default none)
Where spans go
  --database-url URL     Postgres; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --clickhouse-url URL   ClickHouse instead; else MCP_OBSERVATORY_CLICKHOUSE_URL
  --no-migrate           do not create or update the tables
  --connections N        connections to the database (default 4; 2 to ClickHouse)
  --spool DIR            keep spans here while the database is unavailable; MCP_OBSERVATORY_SPOOL (default none:
                         senders are asked to retry)
  --spool-size SIZE      maximum size of the spool; when full, senders are asked to retry (default 1g)
  --forward URL          also forward stored spans over OTLP/HTTP, e.g. http://apm:4318/v1/traces;
                         MCP_OBSERVATORY_FORWARD_URL; headers from OTEL_EXPORTER_OTLP_HEADERS
  --keep-attributes NAMES  attributes of your own, separated by commas, that are stored without --capture-content
  --capture-content      keep prompts, answers and error texts that senders put on spans (default: hashed, scored
                         and removed); OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
Who may send
  --token-file FILE      accepted bearer tokens, one per line; or one in MCP_OBSERVATORY_TOKEN
  --cors-origins URLS    web pages that may send over HTTP, or * (default none); MCP_OBSERVATORY_CORS_ORIGINS
  --tls-cert FILE --tls-key FILE   TLS on both ports
  --tls-client-ca FILE   require client certificates of this authority (mutual TLS)
  --insecure             listen beyond loopback without authentication
Limits; requests beyond them get 413, or 429 or 503 with a retry delay (SIZE: bytes, or 512k, 20m, 1g)
  --max-body SIZE        maximum size of a request, compressed and decompressed (default 20m)
  --max-spans N          maximum spans of a request (default 50000)
  --max-requests N       maximum concurrent requests (default 256)
  --max-memory SIZE      maximum memory of requests in progress (default 64m)
  --max-waiting N        maximum spans of requests in progress (default 65536)
  --drain-timeout SEC    seconds to finish them after SIGTERM or SIGINT (default 25); a second signal exits at once
Output
  --json                 print the ready line as JSON
  --metrics-url URL      the collector's own metrics, OTLP/HTTP; OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`;

/** `mcp-observatory collect`: the OTLP service. */
export const collectCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { options, metricsUrl, json } = await readCollectOptions(args, io);
    useStderrDiag(io.env.OTEL_LOG_LEVEL);
    using ending = new EndingSignal();
    const stopped = ending.wait();
    const metrics = metricsUrl === undefined ? undefined : await openMetrics(metricsUrl);
    const collector = await startCollector({ ...options, meterProvider: metrics?.meterProvider });
    print(io, json ? readyJson(collector) : printableLine(readyText(collector, options.spool)));
    await stopped;
    await collector.close();
    await metrics?.close();
    const { received, exported, spooled, refused } = collector.stats;
    io.stderr.writeLine(
      `mcp-observatory collect: stopped; ${received} spans taken, ${exported} written, ${spooled} put on disk, ${refused} refused`,
    );
    return EXIT_OK;
  },
};

function readyJson({ httpUrl, grpcAddress, healthUrl, database }: Collector): object {
  return { ready: true, http: httpUrl, grpc: grpcAddress, health: healthUrl, database };
}

function readyText(collector: Collector, spool: CommandIo['env'][string]): string {
  const { httpUrl = 'off', grpcAddress = 'off', healthUrl, database } = collector;
  const health = healthUrl === undefined ? '' : ` health ${healthUrl}`;
  return `mcp-observatory collect: ready http ${httpUrl} grpc ${grpcAddress}${health} database ${database} spool ${spool ?? 'none'}`;
}
