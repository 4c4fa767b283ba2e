import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../../base/index.ts';
import { type GoldenCategory, type GoldenSource, goldenFromTrace } from '../../golden/index.ts';
import { DEFAULT_DATA_DIR, openDatabase } from '../../postgres/index.ts';
import { type Command, EXIT_OK } from '../command-line/index.ts';

const CATEGORIES = ['happy_path', 'error_recovery', 'provider_comparison', 'edge_case'] as const;
const SOURCES = ['recorded', 'scripted'] as const;

const HELP = `Usage: mcp-observatory golden from-trace TRACE_ID [options]

Makes a golden from a run of mcpGhost in mcp_traces. The run must have been traced with captureContent: true (or
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true): spans without content hold only hashes and numbers.

  --out FILE           file to write (default: trace_<first 8 digits>.json)
  --name NAME          test_name (default: trace_<first 8 digits>)
  --category NAME      ${CATEGORIES.join(', ')}
                       (default: error_recovery if a call failed, else happy_path)
  --source SOURCE      recorded or scripted (default: scripted if every model call went to this machine)
  --span ID            span id of the run, if the trace has several
  --database-url URL   Postgres connection string; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR       embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json               one JSON object {file, test_name, source, exchanges, calls}

The run is repeated against local servers that replay the trace; no other server is contacted. The golden is written
only if every request is the same as in the trace.`;

/** `golden from-trace`: a stored run becomes a golden. */
export const goldenFromTraceCommand: Command = {
  name: 'from-trace',
  summary: 'make a golden from a run in mcp_traces',
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        out: { type: 'string' },
        name: { type: 'string' },
        category: { type: 'string' },
        source: { type: 'string' },
        span: { type: 'string' },
        'database-url': { type: 'string' },
        'data-dir': { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    const [traceId, ...more] = positionals;
    if (traceId === undefined || more.length > 0) {
      throw new ObservatoryError('INVALID_OPTION', `Expected one trace id, got ${positionals.length}`);
    }
    const url =
      values['database-url'] ??
      (io.env.MCP_OBSERVATORY_DATABASE_URL?.trim() || io.env.DATABASE_URL?.trim() || undefined);
    const path = resolve(values.out ?? `trace_${traceId.replaceAll('-', '').slice(0, 8)}.json`);
    await using db = await openDatabase({ url, dataDir: values['data-dir'], create: false });
    const golden = await goldenFromTrace(db, {
      traceId,
      path,
      spanId: values.span,
      testName: values.name,
      category: oneOf<GoldenCategory>('--category', CATEGORIES, values.category),
      source: oneOf<GoldenSource>('--source', SOURCES, values.source),
    });
    const exchanges = golden.provider_responses.length;
    const calls = golden.mcp_cassette?.calls.length ?? 0;
    const { test_name, source } = golden;
    io.stdout.write(
      values.json
        ? `${JSON.stringify({ file: path, test_name, source, exchanges, calls })}\n`
        : `${path}: ${source}, ${exchanges} model calls, ${calls} tool calls\n`,
    );
    return EXIT_OK;
  },
};

function oneOf<T extends string>(
  option: string,
  words: readonly T[],
  given: string | undefined,
): T | undefined {
  if (given === undefined) return undefined;
  const word = words.find((one) => one === given);
  if (word !== undefined) return word;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected ${option} to be one of ${words.join(', ')}, got '${given}'`,
  );
}
