/** The three example servers, their policy, and a scripted planner. */
import { fileURLToPath } from 'node:url';
import { SHELVES } from '../../examples/servers/shelves.ts';
import { createServer } from '../../examples/servers/tools.ts';
import type { Planner } from '../../src/policy/index.ts';
import { type ServedMcp, serveMcp } from './http-mcp-server.ts';
import { serverFile } from './server-file.ts';

/** A path of the repository. */
export const fromRoot = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

export const ALLOWLIST: string = fromRoot('config/allowlist.json');

export const SERVER: string = serverFile('example');

/** One of the example servers over HTTP, in this process; each request gets it as it was at first. */
export const serveShelf = (id: keyof typeof SHELVES): Promise<ServedMcp> =>
  serveMcp(() => createServer(SHELVES[id]));

/** The example servers over HTTP, in this process, by their ids. */
export interface ServedMcps extends AsyncDisposable {
  readonly servers: Readonly<Record<string, { readonly url: string }>>;
}

export async function serveShelves(): Promise<ServedMcps> {
  const ids = Object.keys(SHELVES) as (keyof typeof SHELVES)[];
  const served = await Promise.all(ids.map(serveShelf));
  return {
    servers: Object.fromEntries(served.map(({ url }, index) => [ids[index], { url }])),
    [Symbol.asyncDispose]: async () => {
      for (const one of served) await one[Symbol.asyncDispose]();
    },
  };
}

/** How to start one of the example servers. */
export const stdio = (id: string) => ({ command: process.execPath, args: [SERVER, id] });

export const SERVERS = {
  'mcp-sharepoint': stdio('mcp-sharepoint'),
  'mcp-servicenow': stdio('mcp-servicenow'),
  'mcp-policy-kb': stdio('mcp-policy-kb'),
};

/** A planner that says its lines in turn, whatever it is asked. */
export function script(...lines: (string | object)[]): Planner & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async plan(messages) {
      asked.push(messages.map(({ content }) => content).join('\n'));
      const line = lines[asked.length - 1];
      return typeof line === 'string' ? line : JSON.stringify(line);
    },
  };
}

export const call = (server: string, tool: string, args: object) => ({
  type: 'call_tool',
  server,
  tool,
  args,
});

export const FETCH = call('mcp-sharepoint', 'fetch_sharepoint_doc', { doc_id: 'sp-001' });
