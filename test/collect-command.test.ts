import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { diag } from '@opentelemetry/api';
import { OTLPTraceExporter as GrpcExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { collectCommand } from '../src/cli/collect.ts';
import { createOtlpExporter } from '../src/durable/otlp-exporter.ts';
import { startCollect } from './support/collect-process.ts';
import { exportSpans } from './support/export.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'observatory-collect-'));
after(() => {
  rmSync(folder, { recursive: true, force: true });
  // The command reports to stderr.
  diag.disable();
});

describe('mcp-observatory collect', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  test('stores what the exporters of the SDK send over every transport, and ends in order at SIGTERM', async () => {
    const url = await server.createDatabase();
    await using collect = await startCollect(url);
    const target = `${collect.http}/v1/traces`;
    const spans = manySpans(80);
    const exporters = [
      new ProtoExporter({ url: target }),
      new JsonExporter({ url: target, compression: 'gzip' as never }),
      new GrpcExporter({ url: `http://${collect.grpc}`, compression: 'gzip' as never }),
      await createOtlpExporter(
        {},
        { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: collect.grpc },
      ),
    ];
    for (const [i, exporter] of exporters.entries()) {
      const part = spans.slice(20 * i, 20 * i + 20);
      assert.deepEqual(await exportSpans(exporter, part), { code: 0 });
      const rows = await runSql(
        url,
        "SELECT right(replace(span_id::text, '-', ''), 16) AS id FROM mcp_traces",
      );
      const stored = new Set(rows.map(({ id }) => id));
      assert.ok(
        idsOf(part).every((id) => stored.has(id)),
        'acknowledged before it was stored',
      );
      await exporter.shutdown();
    }
    const [counts] = await runSql(url, 'SELECT count(*)::integer AS rows FROM mcp_traces');
    assert.equal(counts?.rows, 80);
    const ready = await fetch(`${collect.http}/readyz`);
    assert.deepEqual(await ready.json(), {
      status: 'ready',
      draining: false,
      database: 'up',
      waiting_spans: 0,
      spool_bytes: 0,
    });
    assert.equal(await collect.end('SIGTERM'), 0);
    assert.match(collect.log(), /80 spans taken, 80 written/);
  });

  test('waits for a database that is not there, and says that it is not ready', async () => {
    const gone = server.url.replace(/:\d+\//, ':1/');
    await using collect = await startCollect(gone);
    const ready = await fetch(`${collect.http}/readyz`);
    assert.equal(ready.status, 503);
    assert.equal((await fetch(`${collect.http}/healthz`)).status, 200);
    assert.equal(await collect.end('SIGTERM'), 0);
  });
});

describe('flags of collect', () => {
  const database = ['--database-url', 'postgresql://nobody@127.0.0.1:1/none'];
  const token = join(folder, 'tokens');
  writeFileSync(token, '# rotated on Monday\nfirst\n\nsecond\n');

  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['no database', [], /--database-url/],
    ['an address without a port', [...database, '--http', '0.0.0.0'], /--http to be HOST:PORT/],
    ['an open door', [...database, '--http', '0.0.0.0:0'], /Anybody could send to 0\.0\.0\.0.*--token-file/],
    ['an open door of gRPC', [...database, '--grpc', '[::]:0'], /Anybody could send to ::/],
    ['a certificate without a key', [...database, '--tls-cert', 'a.pem'], /--tls-cert and --tls-key/],
    ['a token file that is not there', [...database, '--token-file', join(folder, 'none')], /--token-file/],
    ['a size that is none', [...database, '--max-body', '20 MB'], /--max-body.*got '20 MB'/],
    ['a body larger than all together', [...database, '--max-body', '1g'], /'maxPendingBytes'/],
    ['nothing to serve', [...database, '--http', 'off', '--grpc', 'off'], /at least one/],
    ['a forward target that is no URL', [...database, '--forward', 'apm:4318'], /--forward to be a URL/],
  ];
  for (const [name, args, message] of refused) {
    test(`refuses ${name}`, async () => {
      await assert.rejects(runCommand(collectCommand, args), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'INVALID_OPTION');
        assert.match(error.message, message);
        return true;
      });
    });
  }
});
