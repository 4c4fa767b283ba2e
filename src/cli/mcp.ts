import { once } from 'node:events';
import { useStderrDiag } from '../base/index.ts';
import { DEFAULT_DATA_DIR } from '../postgres/index.ts';
import { type McpStdioSdk, serveStoreOverStdio } from '../ui/index.ts';
import { type Command, DATABASE_FLAGS, EXIT_OK, findOpenDatabase, readFlags } from './command-line/index.ts';
import { loadMcpSdk, MCP_SERVER_SDK } from './store-mcp.ts';

const HELP = `Usage: mcp-observatory mcp [options]

An MCP server over stdio for agents that look into traces: list runs by a filter, explain a run, show a span, compare
runs, health of tools, costs. It writes only summaries of new runs. While 'up' runs, use its endpoint /mcp instead:
the embedded database allows one process.

Options:
  --database-url URL    Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR        embedded database used without one (default ${DEFAULT_DATA_DIR})

If the package ${MCP_SERVER_SDK} is not installed, it is fetched once, about 17 MB, into a private
folder of your cache.

Runs until its input ends.`;

/** `mcp-observatory mcp`: the store as an MCP server over stdio. */
export const mcpCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, DATABASE_FLAGS);
    useStderrDiag(io.env.OTEL_LOG_LEVEL);
    await using db = await findOpenDatabase(values, io);
    const sdk = await loadMcpSdk(io);
    const stdio = await loadMcpSdk<McpStdioSdk>(io, '/stdio');
    const ended = Promise.race([
      once(process.stdin, 'end'),
      once(process.stdin, 'close'),
      once(process, 'SIGTERM'),
      once(process, 'SIGINT'),
    ]);
    serveStoreOverStdio(sdk, stdio, db);
    await ended;
    return EXIT_OK;
  },
};
