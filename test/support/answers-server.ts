/**
 * A stdio MCP server on the official SDK that lists the tools and gives the results it is started with, as they are:
 * `{ tools: [...], results: { tool: [CallToolResult, ...] }, resources: { uri: contents } }`. The last result of a tool
 * is given again; a result `null` never comes.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Answers } from './answers.ts';

const answers = JSON.parse(process.argv[2] ?? '') as Answers;
const { tools, results, resources = {} } = answers;
const given = new Map<string, number>();
const server = new Server(
  { name: 'answers', version: '1.0.0' },
  { capabilities: { tools: {}, resources: {} } },
);

server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }) as never);
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  const list = results[params.name] ?? [];
  const at = given.get(params.name) ?? 0;
  given.set(params.name, at + 1);
  const result = list[Math.min(at, list.length - 1)];
  return (result === null ? new Promise(() => undefined) : result) as never;
});
server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
  const contents = resources[params.uri];
  if (contents === undefined) throw new Error(`There is no resource ${params.uri}`);
  return { contents } as never;
});
await server.connect(new StdioServerTransport());
