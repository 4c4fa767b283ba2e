import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { archive, queryArchive } from '../src/archive/index.ts';
import { openS3Store } from '../src/archive/s3/index.ts';
import { COLUMNS } from '../src/base/fields.ts';
import { type OwnPool, openPool, PostgresSpanExporter } from '../src/postgres/index.ts';
import { addDay, age, filledDays, plainRow, rowDigests, selectAll, today } from './support/archived-rows.ts';
import { insertDay } from './support/day-of-rows.ts';
import { exportSpans } from './support/export.ts';
import { manySpans } from './support/many-spans.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { startS3Proxy } from './support/s3-proxy.ts';
import { noS3Server, type S3Server, startS3 } from './support/s3-server.ts';
import { manyRows } from './support/size.ts';
import { startProxy } from './support/tcp-proxy.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

const COUNT = 'SELECT count(*)::INTEGER FROM mcp_traces';
const MAIN = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));
const PUT = fileURLToPath(new URL('./support/s3-put-process.js', import.meta.url));
const MIB = 1 << 20;
const DAY_ROWS = manyRows(20_000);
const NAME = 'day=2026-11-01/mcp_traces_20261101.parquet';

describe('an archive in a bucket', { skip: noPostgres() || (await noS3Server()) }, () => {
  let s3: S3Server;
  let server: PostgresServer;
  let client: S3Client;
  const old = { ...process.env };
  before(async () => {
    [s3, server] = await Promise.all([startS3('bucket'), startPostgres()]);
    Object.assign(process.env, s3.env);
    client = new S3Client({ forcePathStyle: true });
  });
  after(async () => {
    client?.destroy();
    for (const name of Object.keys(s3.env)) delete process.env[name];
    Object.assign(process.env, old);
    await s3[Symbol.asyncDispose]();
    await server.stop();
  });

  const counted = async (pool: OwnPool | undefined, address: string, folder: string): Promise<number> => {
    const { rows } = await queryArchive({ archive: address, sql: COUNT, pool, cache: { folder } });
    return Number(rows[0]?.[0]);
  };
  const left = async (pool: OwnPool) =>
    Number((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n);
  const uploads = async () =>
    (await client.send(new ListMultipartUploadsCommand({ Bucket: 'bucket' }))).Uploads ?? [];
  const keys = async (prefix: string) =>
    ((await client.send(new ListObjectsV2Command({ Bucket: 'bucket', Prefix: prefix }))).Contents ?? []).map(
      ({ Key = '' }) => Key,
    );
  const archiving = (url: string, address: string, cache: string) =>
    spawn(
      process.execPath,
      [MAIN, 'db', 'archive', '--database-url', url, '--to', address, '--older-than', '1m', '--cache', cache],
      { stdio: 'ignore' },
    );
  /** The server notices late that a killed process is gone, and until then another one may not archive. */
  const untilArchived = (url: string, address: string, cache: string) =>
    waitUntil(async () => (await once(archiving(url, address, cache), 'exit'))[0] === 0, 600_000);

  test('holds every row as the table did, and each file is read from the bucket once', async () => {
    const url = await filledDays(server, 400);
    const pool = await openPool(url);
    const folder = tempDir();
    await using proxy = await startS3Proxy(s3.port);
    const to = `s3://bucket/equal/of one?endpoint=${proxy.url}`;
    const expected = (await pool.query(selectAll('pg'))).rows.map((row) => COLUMNS.map((name) => row[name]));
    const archived = await archive(pool, to, today(), { cache: { folder } });
    assert.equal(
      archived.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
      800,
    );
    assert.equal(await left(pool), 0);
    assert.deepEqual(
      await keys('equal/of one/'),
      archived.map(({ file }) => `equal/of one/${file}`),
    );
    const read = { archive: to, sql: selectAll('duckdb'), cache: { folder } };
    assert.deepEqual((await queryArchive(read)).rows.map(plainRow), expected.map(plainRow));
    const downloads = () => proxy.requests.filter((line) => /^GET [^?]*parquet/.test(line)).length;
    assert.equal(downloads(), archived.length);
    assert.deepEqual((await queryArchive(read)).rows.map(plainRow), expected.map(plainRow));
    assert.equal(downloads(), archived.length, 'from the cache');
    assert.deepEqual(
      await archive(pool, to, today(), { cache: { folder } }),
      [],
      'nothing is left to archive',
    );
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      assert.equal(statSync(join(folder, file)).mode & 0o077, 0, `${file} is for its owner alone`);
    }
    assert.deepEqual(readdirSync(folder), ['files'], 'nothing that was under way is left');

    const day = archived[1]?.file.slice(4, 14) ?? '';
    const fresh = tempDir();
    const before = downloads();
    const args = [
      'db',
      'query',
      `SELECT min(start_time)::VARCHAR AS first, count(*)::INTEGER AS n FROM mcp_traces`,
    ];
    const flags = ['--archive', to, '--days', day, '--cache', fresh, '--cache-size', '0.5', '--json'];
    const child = spawn(process.execPath, [MAIN, ...args, ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = await Promise.all([child.stdout.toArray(), once(child, 'exit')]);
    const row = JSON.parse(Buffer.concat(output).toString());
    assert.equal(row.n, archived[1]?.rows);
    assert.equal(row.first.slice(0, 10), day);
    assert.equal(downloads(), before + 1, 'only the file of that day');

    const most = statSync(join(folder, 'files', readdirSync(join(folder, 'files'))[0] ?? '')).size * 2;
    await assert.rejects(queryArchive({ ...read, cache: { folder: fresh, maxBytes: most } }), {
      code: 'ARCHIVE_REFUSED',
      message: /files of s3:\/\/bucket\/equal\/of one have .*--days .*--cache-size/,
    });
    for (const { file } of archived) {
      const one = { from: file.slice(4, 14), to: file.slice(4, 14) };
      await queryArchive({ ...read, days: one, sql: COUNT, cache: { folder: fresh, maxBytes: most } });
    }
    const kept = readdirSync(join(fresh, 'files')).map((name) => statSync(join(fresh, 'files', name)).size);
    assert.ok(kept.reduce((sum, bytes) => sum + bytes, 0) <= most && kept.length > 0, String(kept));
    await pool.end();
  });

  test('a span that arrives after its day was archived is kept, one that is sent again counts once', async () => {
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const [to, folder] = ['s3://bucket/late', tempDir()];
    const spans = manySpans(60);
    await using exporter = new PostgresSpanExporter({ connection: pool });
    await exportSpans(exporter, spans.slice(0, 40));
    await age(pool);
    await archive(pool, to, today(), { cache: { folder } });
    await exportSpans(exporter, spans.slice(20));
    await age(pool);
    assert.equal(await counted(pool, to, folder), 60, 'before the late spans are archived');
    const late = await archive(pool, to, today(), { cache: { folder } });
    assert.deepEqual(
      late.map(({ rows }) => rows),
      [20],
    );
    assert.equal(await counted(pool, to, folder), 60);
    assert.equal(await counted(undefined, to, folder), 60);
    await pool.end();
  });

  test(`a day of ${DAY_ROWS} rows is archived and reads back equal, though the process is killed and the network fails`, async () => {
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const folder = tempDir();
    const proxy = await startProxy(s3.port);
    const to = `s3://bucket/day?endpoint=http://127.0.0.1:${proxy.port}`;
    await addDay(url, 1);
    await runSql(url, insertDay(DAY_ROWS, 1));
    const expected = await rowDigests(DAY_ROWS, async (range) => {
      const { rows } = await pool.query(selectAll('pg', range));
      return rows.map((row) => COLUMNS.map((name) => row[name]));
    });
    for (let kill = 0; kill < 6; kill += 1) {
      const child = archiving(url, to, folder);
      const wait = 600 + kill * (150 + DAY_ROWS / 250);
      for (let cut = 0; cut < 10; cut += 1) {
        await sleep(wait / 10);
        if (kill % 2 === 1) proxy.cut();
      }
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      const rows = await left(pool);
      assert.ok(rows === DAY_ROWS || rows === 0, `${rows} rows are left`);
      if ((await keys('day/')).length > 0) {
        assert.equal(await counted(undefined, 's3://bucket/day', folder), DAY_ROWS, 'a file is whole');
        assert.equal(await counted(pool, 's3://bucket/day', folder), DAY_ROWS);
      } else assert.equal(rows, DAY_ROWS);
    }
    await untilArchived(url, to, folder);
    assert.equal(await left(pool), 0);
    assert.deepEqual(await uploads(), [], 'no parts are left');
    assert.deepEqual(
      readdirSync(folder).filter((name) => name !== 'files'),
      [],
      'nothing is left of the killed processes',
    );
    const found = await rowDigests(DAY_ROWS, async (range) => {
      const read = { archive: to, sql: selectAll('duckdb', range), maxRows: DAY_ROWS };
      return (await queryArchive({ ...read, cache: { folder } })).rows;
    });
    assert.deepEqual(found, expected);
    await pool.end();
    await proxy.close();
  });

  test('a process that is killed at each of its requests loses no span and doubles none', async () => {
    const url = await filledDays(server, 200);
    const pool = await openPool(url);
    const folder = tempDir();
    await using proxy = await startS3Proxy(s3.port);
    const to = `s3://bucket/killed?endpoint=${proxy.url}`;
    const killedAt = new Set<string>();
    for (let kill = 1; kill <= 10; kill += 1) {
      const child = archiving(url, to, folder);
      const exit = once(child, 'exit');
      let requests = 0;
      proxy.losesAnswer = async (method) => {
        requests += 1;
        if (requests !== kill) return false;
        killedAt.add(method);
        child.kill('SIGKILL');
        await exit;
        return true;
      };
      // Where the server sees that a killed process is gone too late, the next one may not archive.
      await exit;
      proxy.losesAnswer = () => false;
      if ((await keys('killed/')).length > 0)
        assert.equal(await counted(pool, to, folder), 400, `at request ${kill}`);
      else assert.equal(await left(pool), 400);
    }
    assert.ok(killedAt.has('PUT') && killedAt.has('HEAD'), [...killedAt].join());
    await untilArchived(url, to, folder);
    assert.equal(await left(pool), 0);
    assert.equal(await counted(undefined, to, folder), 400);
    assert.deepEqual(readdirSync(folder), ['files']);
    await pool.end();
  });

  test('a large file arrives in parts, which a killed process does not leave for good', async () => {
    const folder = tempDir();
    const file = join(folder, 'file');
    writeFileSync(file, randomBytes(40 * MIB + 1));
    const proxy = await startProxy(s3.port);
    const through = `s3://bucket/parts?endpoint=http://127.0.0.1:${proxy.port}`;
    let isCaught = false;
    for (let attempt = 0; attempt < 20 && !isCaught; attempt += 1) {
      proxy.resume();
      const child = spawn(process.execPath, [PUT, through, folder, file, NAME], { stdio: 'inherit' });
      await waitUntil(async () => (await uploads()).length > 0 || child.exitCode !== null);
      proxy.stall();
      isCaught = (await uploads()).length > 0;
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      if (!isCaught) writeFileSync(file, randomBytes(40 * MIB + 1));
    }
    assert.ok(isCaught, 'a process was killed in mid-upload');
    await proxy.close();
    // Of another name, which is not touched.
    const other = await client.send(
      new CreateMultipartUploadCommand({ Bucket: 'bucket', Key: `parts/${NAME}.other` }),
    );
    const [code] = await once(
      spawn(process.execPath, [PUT, 's3://bucket/parts', folder, file, NAME]),
      'exit',
    );
    assert.equal(code, 0);
    assert.deepEqual(
      (await uploads()).map(({ Key }) => Key),
      [`parts/${NAME}.other`],
    );
    await client.send(
      new AbortMultipartUploadCommand({ Bucket: 'bucket', Key: other.Key, UploadId: other.UploadId }),
    );
    await using store = await openS3Store('s3://bucket/parts', { folder });
    await using work = await store.workForReading();
    const [path = ''] = await store.paths(await store.list(), work);
    assert.ok(readFileSync(path).equals(readFileSync(file)));
  });

  for (const [size, method] of [
    [MIB, 'PUT'],
    [20 * MIB, 'POST'],
  ] as const) {
    test(`a file of ${size / MIB} MiB is stored, though the answers that say so are lost`, async () => {
      const folder = tempDir();
      await using proxy = await startS3Proxy(s3.port);
      const address = `s3://bucket/lost-${method}`;
      const content = randomBytes(size);
      let lost = 0;
      proxy.losesAnswer = (asked, url) => {
        const isEnd = asked === method && url.includes('parquet') && !url.includes('uploads');
        if (isEnd) lost += 1;
        return isEnd;
      };
      await using store = await openS3Store(`${address}?endpoint=${proxy.url}`, { folder });
      await using work = await store.workForWriting();
      const path = join(work.path, 'file');
      writeFileSync(path, content);
      const never = async () => assert.fail('its own file is not another one');
      await store.put(path, NAME, never, work);
      assert.ok(lost > 0);
      proxy.losesAnswer = () => false;
      const [file] = await store.list();
      assert.equal(file?.bytes, size);
      const [copy = ''] = await store.paths(file === undefined ? [] : [file], work);
      assert.ok(readFileSync(copy).equals(content));
    });
  }

  test('two writers of one name: what the other wrote meanwhile is not replaced', async () => {
    const folder = tempDir();
    await using proxy = await startS3Proxy(s3.port);
    await using store = await openS3Store(`s3://bucket/two?endpoint=${proxy.url}`, { folder });
    await using work = await store.workForWriting();
    for (const [round, size] of [1000, 20 * MIB].entries()) {
      const name = `day=2026-11-0${round + 1}/mcp_traces.parquet`;
      const path = join(work.path, 'file');
      writeFileSync(path, randomBytes(size));
      let isFirst = true;
      proxy.losesAnswer = async (method) => {
        // The other one is faster, after the look at what is there.
        if (isFirst && (method === 'PUT' || method === 'POST')) {
          isFirst = false;
          await client.send(
            new PutObjectCommand({ Bucket: 'bucket', Key: `two/${name}`, Body: 'of the other' }),
          );
        }
        return false;
      };
      await assert.rejects(
        store.put(path, name, async () => assert.fail('there was nothing'), work),
        {
          code: 'ARCHIVE_REFUSED',
          message: /PreconditionFailed, it was changed meanwhile.*prefix of its own/,
        },
      );
      assert.ok(!isFirst);
      const kept = (await store.list()).find((file) => file.name === name);
      assert.equal(kept?.bytes, 'of the other'.length);
    }
    assert.deepEqual(await uploads(), []);
  });

  test('a file with spans that the day has not is not replaced, in a bucket or a folder', async () => {
    const url = await filledDays(server, 60);
    const pool = await openPool(url);
    const folder = tempDir();
    for (const to of ['s3://bucket/foreign', join(folder, 'archive')]) {
      const theirs = await filledDays(server, 60);
      const other = await openPool(theirs);
      await runSql(theirs, `UPDATE mcp_traces SET span_id = gen_random_uuid()`);
      await archive(other, to, today(), { cache: { folder } });
      await other.end();
      await assert.rejects(archive(pool, to, today(), { cache: { folder } }), {
        code: 'ARCHIVE_REFUSED',
        message: /has \d+ spans that are not in mcp_traces_.*a place of its own/,
      });
      assert.equal(await left(pool), 120);
      assert.equal(await counted(undefined, to, folder), 120);
    }
    await pool.end();
  });

  test('a server that is gone, stalls or refuses: the day stays, and the error says what to do without secrets', async () => {
    const url = await filledDays(server, 50);
    const pool = await openPool(url);
    const folder = tempDir();
    const refused = async (address: string, pattern: RegExp) => {
      const error = await archive(pool, address, today(), { cache: { folder } }).then(
        () => assert.fail('was archived'),
        (cause: unknown) => cause as Error & { code: string },
      );
      assert.match(error.message, pattern);
      assert.ok(['ARCHIVE_REFUSED', 'INVALID_OPTION'].includes(error.code));
      const { AWS_SECRET_ACCESS_KEY: secret = '', AWS_ACCESS_KEY_ID: id = '' } = s3.env;
      for (const word of [secret, id, 'wrong-secret', 'wrong-id', 'token-of-session']) {
        assert.ok(
          !`${error.stack}${JSON.stringify(error)}${String(error.cause)}`.includes(word),
          error.message,
        );
      }
      assert.equal(await left(pool), 100);
    };
    const keep = { ...process.env };
    const withEnv = async (env: Record<string, string>, address: string, pattern: RegExp) => {
      Object.assign(process.env, env);
      try {
        await refused(address, pattern);
      } finally {
        for (const name of Object.keys(env)) delete process.env[name];
        Object.assign(process.env, keep);
      }
    };
    await refused('s3://absent/x', /s3:\/\/absent\/x failed: NoSuchBucket.*create it/);
    await refused('s3://user:wrong-secret@bucket/x', /without credentials; set AWS_ACCESS_KEY_ID/);
    await refused('s3://bucket/x?endpoint=http://127.0.0.1:1', /ECONNREFUSED.*AWS_ENDPOINT_URL_S3/);
    await withEnv(
      { AWS_SECRET_ACCESS_KEY: 'wrong-secret' },
      's3://bucket/x',
      /SignatureDoesNotMatch.*AWS_SECRET/,
    );
    await withEnv({ AWS_ACCESS_KEY_ID: 'wrong-id' }, 's3://bucket/x', /does not know the access key/);
    await withEnv(
      {
        AWS_PROFILE: 'none',
        AWS_CONFIG_FILE: '/dev/null',
        AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
        AWS_ACCESS_KEY_ID: '',
        AWS_SECRET_ACCESS_KEY: '',
        AWS_EC2_METADATA_DISABLED: 'true',
      },
      's3://bucket/x',
      /no usable credentials were found; set AWS_ACCESS_KEY_ID/,
    );

    const proxy = await startProxy(s3.port);
    await using store = await openS3Store(
      `s3://bucket/x?endpoint=http://127.0.0.1:${proxy.port}`,
      { folder },
      300,
    );
    await using work = await store.workForWriting();
    const path = join(work.path, 'file');
    writeFileSync(path, randomBytes(20 * MIB));
    proxy.stall();
    await assert.rejects(
      store.put(path, NAME, async () => {}, work),
      /TimeoutError, the server cannot be reached/,
    );
    await proxy.close();

    await s3.kill();
    await refused('s3://bucket/x', /ECONNREFUSED/);
    await s3.restart();
    await archive(pool, 's3://bucket/x', today(), { cache: { folder } });
    assert.equal(await left(pool), 0);
    assert.equal(await counted(undefined, 's3://bucket/x', folder), 100);
    await pool.end();
  });

  test('objects of others, wrong names and changed content do no harm', async () => {
    const folder = tempDir();
    const put = (Key: string, Body: string, Metadata = {}) =>
      client.send(new PutObjectCommand({ Bucket: 'bucket', Key: `hostile/${Key}`, Body, Metadata }));
    for (const name of [
      'notes.txt',
      'day=2026-11-01/x.csv',
      'day=x/y.parquet',
      'late/deep/z.parquet',
      'late/a b.parquet',
    ]) {
      await put(name, 'text');
    }
    await assert.rejects(queryArchive({ archive: 's3://bucket/hostile', sql: COUNT, cache: { folder } }), {
      code: 'ARCHIVE_REFUSED',
      message: /no files of an archive in s3:\/\/bucket\/hostile.*--to s3/,
    });
    await put(NAME, 'content', { sha256: '0'.repeat(64) });
    await assert.rejects(queryArchive({ archive: 's3://bucket/hostile', sql: COUNT, cache: { folder } }), {
      code: 'ARCHIVE_REFUSED',
      message: /its size or checksum differs/,
    });
    await client.send(new DeleteObjectCommand({ Bucket: 'bucket', Key: `hostile/${NAME}` }));
    await put(NAME, 'content');
    await assert.rejects(queryArchive({ archive: 's3://bucket/hostile', sql: COUNT, cache: { folder } }), {
      code: 'ARCHIVE_REFUSED',
      message: /DuckDB refused/,
    });
    assert.deepEqual(readdirSync(folder), ['files']);
    assert.ok(!existsSync(join(folder, 'files', NAME)));
  });

  test('a server that lies is bounded: lists without end, names that lead elsewhere, objects longer than said', async (t) => {
    const folder = tempDir();
    let answer = (_url: URL, _response: ServerResponse) => {};
    const liar = createServer((request, response) => {
      request.resume();
      answer(new URL(request.url ?? '', 'http://liar'), response);
    });
    t.after(() => {
      liar.closeAllConnections();
      liar.close();
    });
    liar.listen(0, '127.0.0.1');
    await once(liar, 'listening');
    const { port } = liar.address() as AddressInfo;
    const query = () =>
      queryArchive({
        archive: `s3://bucket/x?endpoint=http://127.0.0.1:${port}`,
        sql: COUNT,
        cache: { folder },
      });
    const listOf = (names: readonly string[], next: string, bytes = 7) =>
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${next !== ''}</IsTruncated>${names
        .map((name) => `<Contents><Key>${name}</Key><ETag>"e"</ETag><Size>${bytes}</Size></Contents>`)
        .join(
          '',
        )}${next === '' ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`}</ListBucketResult>`;

    let lists = 0;
    answer = (_url, response) => {
      lists += 1;
      response.end(listOf([], `token-${lists}`));
    };
    await assert.rejects(query(), { code: 'ARCHIVE_REFUSED', message: /more than 100000 objects/ });
    assert.ok(lists >= 100 && lists < 1_000, `${lists} requests`);

    const asked: string[] = [];
    answer = (url, response) => {
      if (url.searchParams.has('list-type')) {
        const names = [
          'x/day=2026-11-01/../../../out.parquet',
          'x/late/..%2fout.parquet/x',
          '/etc/x.parquet',
          'y/late/a.parquet',
        ];
        return response.end(listOf([...names, `x/${NAME}`, `x/${NAME}`], ''));
      }
      asked.push(decodeURIComponent(url.pathname));
      response.setHeader('ETag', '"e"');
      const more = setInterval(() => response.write(Buffer.alloc(65_536)), 1);
      response.once('close', () => clearInterval(more));
    };
    await assert.rejects(query(), { code: 'ARCHIVE_REFUSED' });
    assert.deepEqual([...new Set(asked)], [`/bucket/x/${NAME}`]);
    assert.deepEqual(readdirSync(folder, { recursive: true }), ['files']);
  });
});
