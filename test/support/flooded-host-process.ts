/**
 * A program with a small heap whose MCP server asks without end and reads no answers. Says on stdout how its memory grew,
 * and how the server ended.
 */
import assert from 'node:assert/strict';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTransportV2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { connectServers } from 'mcp-observatory/orchestrator';
import { gateClient, PolicyGate, PolicyHost } from 'mcp-observatory/policy';
import { askingStdio } from './hostile-server.ts';
import { waitUntil } from './wait-until.ts';

const INFO = { name: 'test', version: '1' };
const server = askingStdio('ping');
const gate = new PolicyGate({ policy: { s: ['t'] } });

/** Each resolves with why the server was given up. */
const DOORS: Readonly<Record<string, () => Promise<string>>> = {
  pool: async () => {
    await using pool = await connectServers({ mcpServers: { s: server } });
    const [one] = pool.servers;
    await waitUntil(() => one?.state === 'dead');
    return one?.error?.message ?? '';
  },
  host: async () => {
    const planner = { plan: async () => '{"type":"call_tool","server":"s","tool":"t","args":{}}' };
    await using host = await PolicyHost.open({
      gate,
      planner,
      servers: { s: server },
      audit: false,
      summarize: false,
    });
    return await host.askOnce('go').then(
      (answer) => JSON.stringify(answer),
      (error: Error) => error.message,
    );
  },
  'client v1': () => gated(new Client(INFO), new StdioClientTransport(server)),
  'client v2': () => gated(new ClientV2(INFO) as unknown as Client, new StdioTransportV2(server)),
};

async function gated(client: Client, transport: Parameters<Client['connect']>[0]): Promise<string> {
  const said: string[] = [];
  const guarded = gateClient(client, gate, { server: 's' });
  await guarded.connect(transport);
  client.onerror = ({ message }) => said.push(message);
  await guarded.listTools();
  await waitUntil(() => said.length > 0);
  await guarded.close();
  return said.join();
}

const open = DOORS[process.argv[2] ?? ''];
assert.ok(open);
// The servers are started in a moment that is part of the growth.
const before = process.memoryUsage.rss();
let peak = before;
const timer = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, 20);
const end = await open();
clearInterval(timer);
process.stdout.write(JSON.stringify({ end, grownMb: (peak - before) / 1024 / 1024 }));
