import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import { type Command, EXIT_OK } from './command-line/index.ts';
import { runDemo } from './demo/index.ts';

const HELP = `Usage: mcp-observatory demo [--live] [--model MODEL]

Runs the whole path on this machine: two real MCP servers over stdio, model calls through the openai client, spans
with hashes, cost and risk in Postgres, and the trace read back by SQL.

  --live          ask the real API instead of playing the scripted conversation; needs OPENAI_API_KEY
  --model MODEL   model to ask with --live (default gpt-4o)

Environment:
  DATABASE_URL                 Postgres to write to (default: embedded, in .mcp-observatory/)
  OTEL_EXPORTER_OTLP_ENDPOINT  also send the spans there over OTLP/HTTP`;

/** `demo`: the main job, end to end, no key and no server needed. */
export const demoCommand: Command = {
  name: 'demo',
  summary: 'the whole path on your machine',
  help: HELP,
  run: async (args, io) => {
    const { values } = parseArgs({
      args: [...args],
      options: { live: { type: 'boolean', default: false }, model: { type: 'string', default: 'gpt-4o' } },
    });
    if (values.live && !io.env.OPENAI_API_KEY) {
      throw new ObservatoryError(
        'INVALID_OPTION',
        '--live asks the real API and needs OPENAI_API_KEY to be set',
      );
    }
    await runDemo({ live: values.live, model: values.model }, io);
    return EXIT_OK;
  },
};
