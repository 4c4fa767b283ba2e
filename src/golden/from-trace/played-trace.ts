import type { ServerResponse } from 'node:http';
import { apiOfPath, PROVIDERS, type WrittenAnswer } from '../../wire/index.ts';
import { type Loopback, openLoopback } from '../replay/index.ts';
import { type StoredCall, type StoredRun, type StoredTurn, takeCall } from './stored-run.ts';

export function toBaseUrl(key: string, { url }: Loopback): string {
  return `${url}${PROVIDERS.find((provider) => provider.key === key)?.basePath ?? ''}`;
}

/** Answers each request with the next turn of a run, in the form of the requested API. */
export async function playModel(run: StoredRun): Promise<Loopback> {
  let next = 0;
  return await openLoopback((request, response) => {
    const turn = run.turns[next];
    next += 1;
    if (turn === undefined)
      return fail(response, 410, `The trace holds ${run.turns.length} model calls and all are used`);
    if (turn.output !== undefined) {
      const api = apiOfPath(request.path);
      if (api === undefined) return fail(response, 404, `No API is known at ${request.path}`);
      const events = api.writeStream(writtenAnswer(turn, next));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''));
      return;
    }
    const status = Number(turn.errorType);
    if (Number.isInteger(status) && status >= 400 && status < 600)
      fail(response, status, 'The provider refused the request');
    else response.destroy();
  });
}

/** The content of a turn, without reasoning: its signatures are not in the trace. */
function writtenAnswer(
  { output, responseId, model, finishReason, usage }: StoredTurn,
  index: number,
): WrittenAnswer {
  const parts = output?.parts ?? [];
  return {
    id: responseId ?? `trace-${index}`,
    model,
    text: parts.map((part) => (part.type === 'text' ? part.content : '')).join(''),
    calls: parts.flatMap((part, at) => {
      if (part.type !== 'tool_call') return [];
      const { id = `call_${at}`, name = '', arguments: args = {} } = part;
      return [{ id, name, argumentsText: typeof args === 'string' ? args : JSON.stringify(args) }];
    }),
    finishReason,
    usage,
  };
}

function fail(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message, type: 'error', code: null, param: null } }));
}

/** The MCP servers of a stored run, over HTTP. */
interface StoredServers extends AsyncDisposable {
  urlOf(server: string): string;
}

type RpcMessage = Readonly<Record<string, unknown>>;

type ServerNotes = ReadonlyMap<string, string>;

/** Plays the servers of a run: their tools, and each recorded call once. */
export async function playServers(run: StoredRun, notes: ServerNotes): Promise<StoredServers> {
  const names = [...new Set([...run.tools, ...run.calls].map(({ server }) => server))];
  const left = [...run.calls];
  const loopback = await openLoopback((request, response) => {
    const server = names[Number(request.path.split('/')[1])];
    if (request.method !== 'POST' || server === undefined) return void response.writeHead(405).end();
    const message = JSON.parse(request.body) as RpcMessage;
    const answer = answerTo(message, server, run, left, notes);
    if (answer === undefined) response.writeHead(202).end();
    else sendJson(response, { jsonrpc: '2.0', id: message.id, ...answer });
  });
  return {
    urlOf: (server) => `${loopback.url}/${names.indexOf(server)}/mcp`,
    [Symbol.asyncDispose]: loopback.close,
  };
}

function answerTo(
  message: RpcMessage,
  server: string,
  run: StoredRun,
  left: StoredCall[],
  notes: ServerNotes,
): object | undefined {
  if (message.id === undefined) return undefined;
  const params = (message.params ?? {}) as Readonly<Record<string, unknown>>;
  switch (message.method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: server, version: '0' },
          instructions: notes.get(server),
        },
      };
    case 'ping':
      return { result: {} };
    case 'tools/list': {
      const tools = run.tools.filter((tool) => tool.server === server);
      return {
        result: {
          tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
        },
      };
    }
    case 'tools/call':
      return callAnswer(takeCall(left, server, String(params.name), params.arguments));
    default:
      return { error: { code: -32601, message: `Method not found: ${String(message.method)}` } };
  }
}

function callAnswer(call: StoredCall | undefined): object {
  if (call === undefined) return { error: { code: -32000, message: 'The trace holds no such call' } };
  if (call.errorCode === undefined) return { result: call.result };
  return { error: { code: call.errorCode, message: bareMessage(toText(call.result), call.errorCode) } };
}

/** Removes the code that SDKs prefix, since they will prefix it again. */
function bareMessage(text: string, code: number): string {
  const prefix = `MCP error ${code}: `;
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

function toText(result: StoredCall['result']): string {
  const [first] = Array.isArray(result.content) ? (result.content as readonly { text?: unknown }[]) : [];
  return typeof first?.text === 'string' ? first.text : '';
}

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
