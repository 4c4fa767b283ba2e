import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { writePrivateFile } from '../src/base/index.ts';

import { commandIo } from '../src/cli/command-line/index.ts';
import { pageAccess } from '../src/cli/page-access.ts';

import { startCollector } from '../src/collector/index.ts';
import { writeGolden } from '../src/golden/index.ts';
import { connectServers } from '../src/mcp-client/index.ts';
import { unavailable } from '../src/mcp-client/unavailable.ts';
import { PinStore } from '../src/policy/index.ts';
import { openDatabase } from '../src/postgres/index.ts';
import { post } from './support/http-post.ts';
import { findPsql, noPostgres, runSql, startPostgres } from './support/postgres-server.ts';
import { longTest } from './support/size.ts';
import { spanRequest } from './support/span-requests.ts';
import { storyGolden } from './support/story-golden.ts';
import { tempDir } from './support/temp-dir.ts';

let umask: number;
before(() => {
  umask = process.umask(0);
});
after(() => {
  process.umask(umask);
});

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('what is written is for its owner alone, whatever the umask, and leaves no other file', async () => {
  const folder = join(tempDir(), 'a', 'b');
  const golden = join(folder, 'golden.json');
  await writeGolden(golden, storyGolden());
  new PinStore().save(join(folder, 'pins.json'));
  const old = join(folder, 'old.json');
  writeFileSync(old, 'readable by all', { mode: 0o666 });
  await writePrivateFile(old, 'now private');
  const files = readdirSync(folder);
  assert.deepEqual(files.sort(), ['golden.json', 'old.json', 'pins.json']);
  for (const name of files) assert.equal(modeOf(join(folder, name)), '600', name);
  for (const made of [folder, join(folder, '..')]) assert.equal(modeOf(made), '700', made);
});

test('a pipe is written to and not replaced; a link is replaced and not followed', async () => {
  const folder = tempDir();
  const [pipe, link, target] = ['pipe', 'link', 'target'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  execFileSync('mkfifo', [pipe]);
  const [read] = await Promise.all([readFile(pipe, 'utf8'), writePrivateFile(pipe, 'through the pipe')]);
  assert.equal(read, 'through the pipe');
  assert.ok(statSync(pipe).isFIFO());
  writeFileSync(target, 'of somebody else');
  symlinkSync(target, link);
  await writePrivateFile(link, 'ours');
  assert.equal(readFileSync(target, 'utf8'), 'of somebody else');
});

longTest(
  'only its owner may enter the folder of an embedded database, also one that was open to all',
  async () => {
    const dataDir = join(tempDir(), 'around', 'pglite');
    mkdirSync(dataDir, { recursive: true, mode: 0o777 });
    await using _ = await openDatabase({ dataDir });
    assert.equal(modeOf(dataDir), '700');
  },
);

test('an error about a server leaves out the password of its URL', async () => {
  const open = (url: string) => connectServers({ s: { url } }).then((pool) => pool.close());
  await assert.rejects(open('ftp://ada:hunter22@127.0.0.1/x'), (error: Error) => {
    assert.match(error.message, /has "ftp:\/\/\*\*\*@127\.0\.0\.1\/x" as "url"/);
    return true;
  });
  const cause = new TypeError(
    'Request cannot be constructed from a URL: http://ada:p@w@host:9/mcp?at=a@b.c.',
  );
  const { message } = unavailable('s', cause, undefined, undefined);
  assert.match(message, /from a URL: http:\/\/\*\*\*@host:9\/mcp\?at=a@b\.c\./);
});

test('the collector writes as the writer role, which may do nothing else', {
  skip: noPostgres() || (findPsql() === undefined && 'no psql'),
}, async () => {
  await using server = await startPostgres();
  const url = await server.createMigrated();
  const file = (path: string) => ['-f', fileURLToPath(new URL(`../../${path}`, import.meta.url))];
  const files = [...file('schema/roles.sql'), ...file('collector/logins.sql')];
  const passwords = ['-v', 'writer_password=w', '-v', 'reader_password=r'];
  execFileSync(findPsql() ?? '', [url, '-X', '-q', '-v', 'ON_ERROR_STOP=1', ...passwords, ...files]);
  const as = (login: string, password: string) =>
    Object.assign(new URL(url), { username: login, password }).href;
  const writer = as('observatory_service', 'w');
  const http = { host: '127.0.0.1', port: 0 };
  await using collector = await startCollector({ databaseUrl: writer, migrate: false, http, grpc: false });
  const headers = { 'content-type': 'application/x-protobuf' };
  const answer = await post(`${collector.httpUrl}/v1/traces`, headers, spanRequest(5).body);
  assert.equal(answer.status, 200);
  const [row] = await runSql(
    as('observatory_grafana', 'r'),
    'SELECT count(*)::integer AS rows FROM mcp_traces',
  );
  assert.equal(row?.rows, 5);
  const denied = { code: '42501' };
  await assert.rejects(runSql(writer, 'SELECT * FROM mcp_traces'), denied);
  await assert.rejects(runSql(writer, 'DELETE FROM mcp_traces'), denied);
});

test('the read token of pages stays, unless somebody else could have read or chosen it', async () => {
  const state = tempDir();
  const path = join(state, 'mcp-observatory', 'read-token');
  const io = commandIo({
    stdin: Readable.from([]),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: { XDG_STATE_HOME: state },
  });
  const token = async () => (await pageAccess({ json: false }, io)).readToken;
  const first = await token();
  assert.equal(await token(), first);
  chmodSync(path, 0o640);
  const second = await token();
  assert.notEqual(second, first);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  for (const text of ['', 'short', 'x'.repeat(5000), first.replace(/.$/u, '!')]) {
    writeFileSync(path, text);
    assert.match(await token(), /^[\w-]{43}$/u);
  }
  const own = await token();
  renameSync(path, `${path}.real`);
  symlinkSync(`${path}.real`, path);
  assert.notEqual(await token(), own, 'a link is not followed');
  unlinkSync(path);
  execFileSync('mkfifo', [path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    assert.match(await token(), /^[\w-]{43}$/u);
    assert.throws(
      () => readSync(pipe, Buffer.alloc(64)),
      { code: 'EAGAIN' },
      'who reads a pipe gets nothing',
    );
  } finally {
    closeSync(pipe);
  }
  assert.ok(statSync(path).isFile());
});
