import { DEFAULT_DATA_DIR } from '../postgres/index.ts';
import { type Command, DATABASE_FLAGS, EXIT_OK, readFlags, usageError } from './command-line/index.ts';
import { arePackagesMissing, runDemo, runWithPackages } from './demo/index.ts';

const HELP = `Usage: mcp-observatory demo [options]

Runs the whole path on this machine: two real MCP servers over stdio, model calls through the openai client, spans
with hashes, cost and risk in Postgres, and the trace read back by SQL. Packages that only the demo needs are fetched
into the user's cache if they are not installed; the project is left as it is.

  --live              ask the real API instead of playing the scripted conversation; needs OPENAI_API_KEY
  --model MODEL       model to ask with --live (default gpt-4o)
  --database-url URL  a Postgres server to write to; MCP_OBSERVATORY_DATABASE_URL. DATABASE_URL is not used
  --data-dir DIR      folder of the embedded database used without one (default ${DEFAULT_DATA_DIR})

Environment:
  OTEL_EXPORTER_OTLP_ENDPOINT  also send the spans there over OTLP/HTTP`;

/** `demo`: the main job, end to end, no key and no server needed. */
export const demoCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, {
      live: { type: 'boolean', default: false },
      model: { type: 'string', default: 'gpt-4o' },
      ...DATABASE_FLAGS,
    });
    if (values.live && !io.env.OPENAI_API_KEY) {
      throw usageError('--live asks the real API and needs OPENAI_API_KEY to be set');
    }
    if (arePackagesMissing(io.env)) return await runWithPackages(args, io);
    await runDemo(values, io);
    return EXIT_OK;
  },
};
