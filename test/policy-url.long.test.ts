import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { urlGate } from './support/policy-fixtures.ts';
import { seededRandom } from './support/random.ts';
import { tempDir } from './support/temp-dir.ts';

const run = promisify(execFile);
const HOST = 'example.com';
const TRIES = 200_000;
const TIMEOUT = { timeout: 120_000, maxBuffer: 64 * 1024 * 1024 };

const PARTS = (
  'https:// http:// https: http: // / \\ : @ ? # . , ; = & % %2f %40 %5c %00 [ ] { } example.com example.com example.com ' +
  'EXAMPLE.com evil.com user pw 443 80 8443 :443 :80 :8443 a b .. xn--e1afmkfd ｅ 。 ① é \u00ad \u200b \ufeff ! ~ $ * ( ) |'
)
  .split(' ')
  .concat([' ', '\t', '\n', '\r', '\u0000', '\u007f']);

/** Texts near a URL of the host: parts put together at random, and plain URLs with one change. */
function candidates(): readonly string[] {
  const random = seededRandom(20261122);
  const pick = () => PARTS[Math.floor(random() * PARTS.length)] ?? '';
  const list: string[] = [];
  for (let i = 0; i < TRIES; i += 1) {
    const plain = `${random() < 0.5 ? 'https' : 'http'}://${HOST}${random() < 0.3 ? ':443' : ''}/a?b=c#d`;
    const at = Math.floor(random() * plain.length);
    const cut = random() < 0.3 ? 1 : 0;
    const tail = Array.from({ length: Math.floor(random() * 6) }, pick).join('');
    list.push(
      random() < 0.6 ? plain.slice(0, at) + pick() + plain.slice(at + cut) : `https://${HOST}${tail}`,
    );
  }
  return list;
}

/** The host and port a client asks a proxy for, by URL. */
async function askedByCurl(urls: readonly string[]): Promise<readonly string[]> {
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (data) => {
      const [line = ''] = data.toString('latin1').split('\r\n');
      asked.push(line.split(' ')[1] ?? '');
      socket.end('HTTP/1.1 502 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const file = join(tempDir(), 'curl');
  const entry = (url: string) =>
    `url = "${url.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"\noutput = "/dev/null"\n`;
  writeFileSync(file, urls.map(entry).join(''));
  const args = ['-q', '-s', '--proxy', `http://127.0.0.1:${port}`, '--noproxy', '', '--config', file];
  await run('curl', args, TIMEOUT).catch((error: { killed?: boolean }) =>
    assert.notEqual(error.killed, true),
  );
  proxy.close();
  // Over TLS a client asks for `host:port`, without it for the whole URL.
  return asked.map((target) => {
    const authority = /^http:\/\/([^/?#]*)/.exec(target);
    return authority === null ? target : `${authority[1]}`;
  });
}

const PYTHON = `
import json, socket, ssl, sys, urllib.request
asked = []
def connect(address, *rest, **options):
    asked.append(address)
    raise OSError("not connected")
socket.create_connection = connect
https = urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), https)
out = []
for url in json.load(sys.stdin):
    asked.clear()
    try:
        opener.open(url)
    except Exception:
        pass
    out.append("%s:%d" % asked[0] if asked else "")
print(json.dumps(out))
`;

async function askedByPython(urls: readonly string[]): Promise<readonly string[]> {
  const child = run('python3', ['-c', PYTHON], TIMEOUT);
  child.child.stdin?.end(JSON.stringify(urls));
  return JSON.parse((await child).stdout) as string[];
}

test('what urlHostIn allows, curl, Python and WHATWG URL all connect to that host', async () => {
  const isAllowed = urlGate([HOST]);
  const urls = [...new Set(candidates())].filter(isAllowed).slice(0, 1_000);
  assert.ok(urls.length > 300, `only ${urls.length} URLs were allowed`);
  const [curl, python] = await Promise.all([askedByCurl(urls), askedByPython(urls)]);
  assert.equal(curl.length, urls.length);
  for (const [index, url] of urls.entries()) {
    const { protocol, hostname, port, username } = new URL(url);
    const defaultPort = protocol === 'https:' ? '443' : '80';
    assert.deepEqual([hostname, port || defaultPort, username], [HOST, defaultPort, ''], url);
    assert.equal(python[index], `${HOST}:${defaultPort}`, url);
    const given = curl[index] ?? '';
    assert.equal(given.includes(':') ? given : `${given}:${defaultPort}`, `${HOST}:${defaultPort}`, url);
  }
});
