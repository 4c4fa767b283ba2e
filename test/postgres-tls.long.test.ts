import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { dbCommand } from '../src/cli/db.ts';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { type Certificates, makeCertificates, noOpenssl } from './support/certificates.ts';
import { exportSpans } from './support/export.ts';
import {
  noPostgres,
  type PostgresServer,
  runSql,
  serverUser,
  startOwnPostgres,
} from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';
import { spanWith } from './support/spans.ts';

const PASSWORD = 'hunter2#/é';

/** The superuser comes in as he likes, `writer` only over TLS and with his password. */
const HBA = `local all all trust
host all postgres all trust
hostssl all writer all scram-sha-256
`;

const skip =
  noPostgres() ||
  noOpenssl() ||
  (process.env.PG_BIN === undefined &&
    process.env.DATABASE_URL !== undefined &&
    'the server is not ours to set up');

describe('TLS and passwords', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-tls-'));
  let certificates: Certificates;
  let server: PostgresServer;
  let admin: string;
  const told: string[] = [];

  before(async () => {
    chmodSync(folder, 0o755);
    certificates = makeCertificates(serverUser());
    writeFileSync(join(folder, 'pg_hba.conf'), HBA);
    server = await startOwnPostgres({
      ssl: 'on',
      ssl_cert_file: certificates.server.certFile,
      ssl_key_file: certificates.server.keyFile,
      hba_file: join(folder, 'pg_hba.conf'),
    });
    admin = await server.createDatabase();
    await runSql(admin, `CREATE ROLE writer LOGIN PASSWORD '${PASSWORD}'`);
    await runSql(
      admin,
      `GRANT ALL ON DATABASE ${new URL(admin).pathname.slice(1)} TO writer; GRANT ALL ON SCHEMA public TO writer`,
    );
    const tell = (...words: unknown[]) => void told.push(inspect(words, { depth: 9 }));
    diag.setLogger({ error: tell, warn: tell, info: tell, debug: tell, verbose: tell }, DiagLogLevel.ALL);
  });
  after(async () => {
    diag.disable();
    await server?.stop();
    certificates?.[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  const url = (parameters: Record<string, string> = {}, password = PASSWORD) => {
    const writer = new URL(admin);
    writer.hostname = 'localhost';
    writer.username = 'writer';
    writer.password = encodeURIComponent(password);
    for (const [name, value] of Object.entries(parameters)) writer.searchParams.set(name, value);
    return writer.href;
  };
  const rows = async () => Number((await runSql(admin, 'SELECT count(*) AS n FROM mcp_traces'))[0]?.n);
  const assertNoSecret = (...things: unknown[]) => {
    for (const thing of [...things, told]) {
      assert.doesNotMatch(inspect(thing, { depth: 12, showHidden: true, maxStringLength: null }), /hunter2/);
    }
  };

  test('sslmode=verify-full with the right authority is accepted, and the connection is encrypted', async () => {
    const connection = url({ sslmode: 'verify-full', sslrootcert: certificates.authorityFile });
    await using db = await openDatabase({ url: connection });
    await migrate(db);
    const encrypted = await db.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    assert.deepEqual(encrypted.rows, [{ ssl: true }]);
    await using exporter = new PostgresSpanExporter({ connection });
    assert.deepEqual(await exportSpans(exporter, [spanWith({})]), { code: 0 });
    assert.equal(await rows(), 1);
  });

  test('the same by options of node:tls', async () => {
    const ssl = { ca: certificates.authority };
    await using exporter = new PostgresSpanExporter({ connection: url(), ssl });
    assert.deepEqual(await exportSpans(exporter, [spanWith({})]), { code: 0 });
  });

  const refused: readonly [name: string, connection: () => string, reason: RegExp][] = [
    [
      'the wrong authority',
      () => url({ sslmode: 'verify-full', sslrootcert: certificates.stranger.certFile }),
      /certificate|self-signed|signature/i,
    ],
    ['no authority that is known', () => url({ sslmode: 'verify-full' }), /certificate|self-signed/i],
    [
      'an authority file that is not there',
      () => url({ sslmode: 'verify-full', sslrootcert: join(folder, 'absent') }),
      /ENOENT/,
    ],
    ['no TLS where the server demands it', () => url(), /no pg_hba.conf entry|no encryption/],
    [
      'the wrong password',
      () => url({ sslmode: 'verify-full', sslrootcert: certificates.authorityFile }, 'hunter2-wrong'),
      /password authentication failed/,
    ],
  ];
  for (const [name, connection, reason] of refused) {
    test(`${name} is refused, nothing is sent, and nothing tells the password`, async () => {
      const before = await rows();
      await using exporter = new PostgresSpanExporter({ connection: connection() });
      const { code, error } = await exportSpans(exporter, [spanWith({})]);
      assert.equal(code, 1);
      assert.match(String(error?.message), reason);
      assert.equal(await rows(), before);
      const failure = await runCommand(dbCommand, ['status', '--database-url', connection()]).catch(
        (thrown: unknown) => thrown,
      );
      assert.ok(failure instanceof Error);
      assertNoSecret(error, failure, exporter);
    });
  }

  test('neither `db status` nor a row tells the password', async () => {
    const connection = url({ sslmode: 'verify-full', sslrootcert: certificates.authorityFile });
    for (const flags of [[], ['--json']]) {
      const { stdout, stderr } = await runCommand(dbCommand, [
        'status',
        '--database-url',
        connection,
        ...flags,
      ]);
      assert.match(stdout, /postgresql:\/\/writer@localhost/);
      assertNoSecret(stdout, stderr);
    }
    assertNoSecret(await runSql(admin, 'SELECT mcp_traces::text FROM mcp_traces'));
  });
});
