import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { DurableSpanProcessor } from '../../src/durable/index.ts';
import { PostgresSpanExporter } from '../../src/postgres/index.ts';
import { exportSpans } from './export.ts';
import { assertExactly, drainRest, exportUnderFault, type FaultRun } from './export-under-fault.ts';
import { manySpans } from './many-spans.ts';
import { noPostgres, type PostgresServer, runSql, startOwnPostgres } from './postgres-server.ts';
import { startProxy } from './tcp-proxy.ts';
import { waitUntil } from './wait-until.ts';

export interface FaultScale {
  readonly spans: number;
  /** How long an outage lasts. */
  readonly outageMs: number;
  /** How long connections are refused. */
  readonly refusedMs: number;
  /** How often the exporting process is killed. */
  readonly kills: number;
}

/** Ends the exporter's connections to this database. */
const terminate = (name: string) => `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'mcp-observatory' AND datname = '${name}'`;

/** A fault lasts until an export has met it, however slow the machine is. */
const untilStruck = (processor: DurableSpanProcessor, count: 'failedExports' | 'spooled' = 'failedExports') =>
  waitUntil(() => processor.stats[count] > 0, 60_000);
const nameOf = (url: string) => new URL(url).pathname.slice(1);

/** Everything that goes wrong with a database, at a scale of choice. */
export function describeFaults({ spans, outageMs, refusedMs, kills }: FaultScale): void {
  describe(`no span is lost or doubled, of ${spans}`, { skip: noPostgres() }, () => {
    let server: PostgresServer;
    before(async () => {
      server = await startOwnPostgres();
    });
    after(() => server.stop());

    test('when the server is killed in mid-COPY and started again, twice', async (t) => {
      const { crash, restart } = server;
      if (crash === undefined || restart === undefined) return t.skip('the server is not ours to kill');
      const fault = async () => {
        for (let i = 0; i < 2; i += 1) {
          await sleep(60);
          await crash();
          await sleep(100);
          await restart();
          await sleep(100);
        }
      };
      await exportUnderFault({ url: await server.createMigrated(), spans, fault });
    });

    test('when the server ends its connections again and again', async () => {
      const url = await server.createMigrated();
      const fault: FaultRun['fault'] = async ({ processor }) => {
        // Until it has struck an export too, not only connections that were idle.
        for (let i = 0; i < 20 || (i < 500 && processor.stats.failedExports === 0); i += 1) {
          await runSql(server.url, terminate(nameOf(url)));
          await sleep(outageMs / 50);
        }
      };
      const { failedExports } = await exportUnderFault({ url, spans, fault });
      assert.ok(failedExports > 0);
    });

    test('when a quarter of the spans end twice', async () => {
      const url = await server.createMigrated();
      await exportUnderFault({ url, spans, repeats: true, fault: () => sleep(1) });
    });

    test(`when the exporting process is killed ${kills} times: what it called safe is there`, async () => {
      const url = await server.createMigrated();
      const directory = mkdtempSync(join(tmpdir(), 'observatory-kill-'));
      const program = fileURLToPath(new URL('./durable-process.js', import.meta.url));
      const acknowledged: string[] = [];
      for (let i = 0; i < kills; i += 1) {
        // Every second one has no database to send to and writes to the disk.
        const connection = i % 2 === 0 ? url : url.replace(/:\d+\//, ':1/');
        const child = spawn(process.execPath, [program, connection, directory], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        let output = '';
        child.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString();
        });
        await once(child.stdout, 'data');
        // At any moment: while starting, taking over what others left, exporting, or writing to the disk.
        await sleep(Math.random() * 150);
        child.kill('SIGKILL');
        await once(child, 'close');
        acknowledged.push(...output.split('\n').slice(0, -1));
      }
      await drainRest(url, directory, true);
      const rows = await runSql(url, 'SELECT span_id FROM mcp_traces_hex');
      const found = new Set(rows.map((row) => row.span_id));
      assert.equal(found.size, rows.length);
      assert.ok(acknowledged.length >= kills);
      const missing = acknowledged.filter((id) => !found.has(id));
      assert.equal(
        missing.length,
        0,
        `${missing.length} of ${acknowledged.length} are missing: ${missing[0]}`,
      );
      rmSync(directory, { recursive: true });
    });

    test('and resending all of them adds none', async () => {
      const url = await server.createMigrated();
      const sent = manySpans(Math.min(spans, 20_000));
      await using exporter = new PostgresSpanExporter({ connection: url, migrate: true });
      for (let i = 0; i < 2; i += 1) assert.deepEqual(await exportSpans(exporter, sent), { code: 0 });
      await assertExactly(
        url,
        sent.map((span) => span.spanContext().spanId),
      );
    });

    test(`when connections are refused for ${refusedMs} ms under load`, async (t) => {
      const { crash, restart } = server;
      if (crash === undefined || restart === undefined) return t.skip('the server is not ours to kill');
      const fault: FaultRun['fault'] = async ({ processor }) => {
        await sleep(30);
        await crash();
        await sleep(refusedMs);
        await untilStruck(processor, 'spooled');
        await restart();
      };
      const { spooled, drained } = await exportUnderFault({
        url: await server.createMigrated(),
        spans,
        fault,
      });
      assert.ok(spooled > 0 && drained > 0, `${spooled} spooled, ${drained} drained`);
    });

    test('when statements time out', async () => {
      const url = await server.createMigrated();
      const name = nameOf(url);
      const fault: FaultRun['fault'] = async ({ processor }) => {
        await runSql(url, `ALTER DATABASE ${name} SET statement_timeout = 1`);
        await runSql(server.url, terminate(nameOf(url)));
        await sleep(outageMs / 2);
        await untilStruck(processor);
        await runSql(server.url, `ALTER DATABASE ${name} RESET statement_timeout`);
        await runSql(server.url, terminate(nameOf(url)));
      };
      const { failedExports } = await exportUnderFault({ url, spans, fault });
      assert.ok(failedExports > 0);
    });

    test('when the database is read-only for a while', async () => {
      const url = await server.createMigrated();
      const name = nameOf(url);
      const fault: FaultRun['fault'] = async ({ processor }) => {
        await runSql(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
        await runSql(server.url, terminate(nameOf(url)));
        await sleep(outageMs / 2);
        await untilStruck(processor);
        await runSql(server.url, `ALTER DATABASE ${name} RESET default_transaction_read_only`);
        await runSql(server.url, terminate(nameOf(url)));
      };
      const { failedExports } = await exportUnderFault({ url, spans, fault });
      assert.ok(failedExports > 0);
    });

    test('when the table is altered under it, and made whole again', async () => {
      const url = await server.createMigrated();
      const fault: FaultRun['fault'] = async ({ processor }) => {
        await sleep(30);
        await runSql(url, 'ALTER TABLE mcp_traces ADD COLUMN added_later text');
        await runSql(url, 'ALTER TABLE mcp_traces RENAME COLUMN model TO model_name');
        await sleep(outageMs / 2);
        await untilStruck(processor);
        await runSql(url, 'ALTER TABLE mcp_traces RENAME COLUMN model_name TO model');
      };
      const { failedExports } = await exportUnderFault({ url, spans, fault });
      assert.ok(failedExports > 0);
    });

    test('when the network stalls, and when it cuts connections', async () => {
      const url = await server.createMigrated();
      const proxy = await startProxy(Number(new URL(url).port));
      const exporterUrl = new URL(url);
      exporterUrl.port = String(proxy.port);
      const fault: FaultRun['fault'] = async ({ processor }) => {
        for (let i = 0; i < 4; i += 1) {
          await sleep(50);
          proxy.stall();
          await sleep(outageMs / 8);
          proxy.resume();
          await sleep(50);
          proxy.cut();
        }
        // Longer than a statement may take.
        proxy.stall();
        await sleep(2500);
        await untilStruck(processor);
        proxy.resume();
      };
      const stats = await exportUnderFault({ url, exporterUrl: exporterUrl.href, spans, fault });
      assert.ok(stats.failedExports > 0);
      await proxy.close();
    });

    test('when the database is away and the disk of the spool is full', async (t) => {
      const { crash, restart } = server;
      if (crash === undefined || restart === undefined) return t.skip('the server is not ours to kill');
      const disk = mountSmallDisk();
      if (disk === undefined) return t.skip('a small disk can only be mounted by root');
      try {
        const url = await server.createMigrated();
        const fault: FaultRun['fault'] = async ({ processor }) => {
          await crash();
          await sleep(outageMs);
          await untilStruck(processor, 'spooled');
          await restart();
        };
        const maxQueueSize = 2 * spans;
        const { spooled } = await exportUnderFault({
          url,
          spans,
          fault,
          maxQueueSize,
          directory: disk.directory,
        });
        assert.ok(spooled > 0);
      } finally {
        disk.unmount();
      }
    });
  });
}

function mountSmallDisk(): { readonly directory: string; unmount(): void } | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'observatory-disk-'));
  const run = (...words: string[]) => {
    execFileSync(words[0] ?? '', words.slice(1), { stdio: 'ignore' });
  };
  try {
    run('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory);
  } catch {
    rmSync(directory, { recursive: true });
    return undefined;
  }
  return {
    directory,
    unmount: () => {
      run('umount', directory);
      rmSync(directory, { recursive: true });
    },
  };
}
