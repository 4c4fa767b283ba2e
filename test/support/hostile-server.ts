import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { listen } from './http-server.ts';

const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'hostile', version: '1' },
};

/** A client of SDK v1 on a server that lists these tools and answers every call with this result, whatever they are. */
export async function hostileClient(tools: readonly object[], result: object): Promise<Client> {
  const answers: Readonly<Record<string, object>> = {
    initialize: INITIALIZED,
    'tools/list': { tools },
    'tools/call': result,
  };
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => {
      const { id, method } = message as { id?: number; method: string };
      const answer = { jsonrpc: '2.0', id, result: answers[method] } as JSONRPCMessage;
      if (id !== undefined) setImmediate(() => transport.onmessage?.(answer));
    },
  };
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  return client;
}

/**
 * A server over HTTP in this process whose tools answer with the results in turn, each the text of a JSON value, whatever
 * it is. `streams` is how often a client has opened its stream of `events`, which ends after them.
 */
export async function hostileHttp(
  results: string | readonly string[],
  type: string,
  tools: readonly string[] = ['t'],
  events?: string,
): Promise<{ readonly url: string; readonly streams: number } & AsyncDisposable> {
  const tails = [results].flat().map((result) => Buffer.from(`,"result":${result}}`));
  let calls = 0;
  let streams = 0;
  const http = createServer(async (request, response) => {
    if (request.method === 'GET' && events !== undefined) {
      streams += 1;
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events);
    }
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method } = JSON.parse(await text(request)) as { id?: number; method: string };
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'tools/call') {
      response.writeHead(200, { 'content-type': type });
      response.write(`${type === 'text/event-stream' ? ': "\ndata: ' : ''}{"jsonrpc":"2.0","id":${id}`);
      response.write(tails[calls++ % tails.length]);
      return response.end('\n\n');
    }
    const inputSchema = {
      type: 'object',
      properties: { to: { type: 'string' } },
      additionalProperties: true,
    };
    const listed = tools.map((name) => ({ name, inputSchema }));
    const answer = method === 'initialize' ? INITIALIZED : { tools: listed };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: answer }));
  });
  const listening = await listen(http);
  return {
    ...listening,
    url: `${listening.origin}/mcp`,
    get streams() {
      return streams;
    },
  };
}

/** A server over stdio whose tool `t` answers with the text that the JavaScript `expression` gives, whatever it is. */
export function hostileStdio(expression: string): { command: string; args: string[] } {
  const script = `
    const answers = {
      initialize: ${JSON.stringify(INITIALIZED)},
      'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object' } }] },
    };
    const lines = require('node:readline').createInterface({ input: process.stdin });
    lines.on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const result = method === 'tools/call' ? ${expression} : JSON.stringify(answers[method] ?? {});
      process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":' + result + '}\\n');
    });`;
  return { command: process.execPath, args: ['-e', script] };
}

/** A server over stdio that writes `chunk` again and again beside its answers, faster than anybody reads. */
export function floodingStdio(chunk: string): { command: string; args: string[] } {
  const script = `
    const chunk = ${JSON.stringify(chunk)}.repeat(${Math.ceil(65_536 / chunk.length)});
    const flood = () => {
      while (process.stdout.write(chunk));
      process.stdout.once('drain', flood);
    };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined || method === undefined) return;
      const tools = [{ name: 't', inputSchema: { type: 'object' } }];
      const result = { initialize: ${JSON.stringify(INITIALIZED)}, 'tools/list': { tools } }[method] ?? { content: [] };
      process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
      if (method === 'tools/list') flood();
    });`;
  return { command: process.execPath, args: ['-e', script] };
}

/**
 * A server over stdio that asks without end and never reads the answers, once its tools are listed; it writes how often
 * it has asked to stderr. With `times` it asks so often, reads, and writes how many requests were refused.
 */
export function askingStdio(
  method: string,
  times = Number.POSITIVE_INFINITY,
): { command: string; args: string[] } {
  const script = `
    const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const params = { messages: [], maxTokens: 1 };
    const times = ${times};
    let asked = 0;
    let refused = 0;
    const ask = () => {
      for (let i = 0; i < 500 && asked < times; i += 1) {
        asked += 1;
        if (!write({ id: 'q' + asked, method: '${method}', params })) return process.stdout.once('drain', ask);
      }
      if (asked < times) setImmediate(ask);
    };
    const lines = require('node:readline').createInterface({ input: process.stdin });
    lines.on('line', (line) => {
      const { id, method, error } = JSON.parse(line);
      if (error !== undefined) process.stderr.write(' ' + ++refused + ' refused\\n');
      if (id === undefined || method === undefined) return;
      const tools = [{ name: 't', inputSchema: { type: 'object' } }];
      write({ id, result: method === 'initialize' ? ${JSON.stringify(INITIALIZED)} : { tools } });
      if (method !== 'tools/list') return;
      if (times === Infinity) {
        lines.close();
        process.stdin.pause();
        setInterval(() => process.stderr.write(asked + '\\n'), 20);
      }
      ask();
    });`;
  return { command: process.execPath, args: ['-e', script] };
}
