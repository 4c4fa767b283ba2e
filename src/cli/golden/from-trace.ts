import { resolve } from 'node:path';
import { GOLDEN_CATEGORIES, goldenFromTrace } from '../../golden/index.ts';
import { DEFAULT_DATA_DIR } from '../../postgres/index.ts';
import {
  type Command,
  DATABASE_FLAGS,
  EXIT_OK,
  findOpenDatabase,
  print,
  readFlags,
  usageError,
  wordFlag,
} from '../command-line/index.ts';
import { printableLine } from '../terminal/index.ts';

const SOURCES = ['recorded', 'scripted'] as const;

const HELP = `Usage: mcp-observatory golden from-trace TRACE_ID [options]

Makes a golden from a run in mcp_traces. It must have been traced with captureContent: true (or
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true): spans without content hold only hashes and numbers.

  --out FILE           file to write (default: trace_<first 8 digits>.json)
  --name NAME          test_name (default: trace_<first 8 digits>)
  --category NAME      ${GOLDEN_CATEGORIES.join(', ')}
                       (default: error_recovery if a call failed, else happy_path)
  --source SOURCE      recorded or scripted (default: scripted if every model call went to this machine)
  --span ID            span id of the run, if the trace has several
  --database-url URL   Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR       embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json               one JSON object {file, test_name, source, description, exchanges, calls}

A run of mcpGhost is repeated against local servers that replay the trace, and must send the same requests. A golden of
another program holds what its spans do; what it lacks is said. 'golden check' runs the program against it.`;

/** `golden from-trace`: a stored run becomes a golden. */
export const goldenFromTraceCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const options = {
      out: { type: 'string' },
      name: { type: 'string' },
      category: { type: 'string' },
      source: { type: 'string' },
      span: { type: 'string' },
      ...DATABASE_FLAGS,
      json: { type: 'boolean', default: false },
    } as const;
    const { values, positionals } = readFlags(args, options, true);
    const [traceId, ...more] = positionals;
    if (traceId === undefined || more.length > 0) {
      throw usageError(`Expected one trace id, got ${positionals.length}`);
    }
    const path = resolve(values.out ?? `trace_${traceId.replaceAll('-', '').slice(0, 8)}.json`);
    await using db = await findOpenDatabase(values, io);
    const golden = await goldenFromTrace(db, {
      traceId,
      path,
      spanId: values.span,
      testName: values.name,
      category: wordFlag('--category', GOLDEN_CATEGORIES, values.category),
      source: wordFlag('--source', SOURCES, values.source),
    });
    const exchanges = golden.provider_responses.length;
    const calls = golden.mcp_cassette?.calls.length ?? 0;
    const { test_name, source, description } = golden;
    print(
      io,
      values.json
        ? { file: path, test_name, source, description, exchanges, calls }
        : printableLine(`${path}: ${source}, ${exchanges} model calls, ${calls} tool calls. ${description}`),
    );
    return EXIT_OK;
  },
};
