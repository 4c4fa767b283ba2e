/**
 * A stdio MCP server with tools that fail in every way a run must survive. Runs in its own process, on the official
 * SDK.
 */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createScenario } from './scenario-tools.ts';

await createScenario(process.argv[2]).connect(new StdioServerTransport());
