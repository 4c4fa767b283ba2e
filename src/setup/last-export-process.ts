/** The program started by `exportNow`: sends what is on stdin. On stdout it says of each part, as it ends, a line of
 * JSON: whether all of it was accepted. */
import { readFileSync, writeSync } from 'node:fs';
import { deserialize } from 'node:v8';
import { errorMessage } from '../base/index.ts';
import { postOtlp } from '../durable/index.ts';
import { decodeProtobuf } from '../otlp/index.ts';
import type { LastExport, PartResult } from './last-export.ts';

async function main({ otlp, metrics, postgres }: LastExport): Promise<void> {
  const attempt = async (part: keyof LastExport, work: Promise<unknown> | undefined) => {
    if (work === undefined) return;
    const failure = await work.then(() => undefined, errorMessage);
    // Read by the process that started this one, which may not wait for all parts.
    writeSync(1, `${JSON.stringify({ part, failure } satisfies PartResult)}\n`);
  };
  await Promise.all([
    attempt('otlp', otlp && postOtlp(otlp.target, otlp.body)),
    attempt('metrics', metrics && postOtlp(metrics.target, metrics.body)),
    attempt('postgres', postgres && store(postgres)),
  ]);
}

type Rows = NonNullable<LastExport['postgres']>;

async function store({ connection, migrate, requests, limitMs }: Rows): Promise<void> {
  // Loaded only if there is a database, because the application waits for this program to end.
  const { PostgresSpanExporter } = await import('../postgres/index.ts');
  const exporter = new PostgresSpanExporter({ connection, migrate });
  const endLate = () => exporter.isMigrating || process.kill(process.pid, 'SIGKILL');
  if (limitMs !== undefined) setTimeout(endLate, limitMs - performance.now()).unref();
  for (const request of requests) {
    const { spans } = decodeProtobuf(Buffer.from(request), Number.MAX_SAFE_INTEGER);
    await new Promise<void>((resolve, reject) => {
      exporter.export([...spans], ({ code, error }) => {
        if (code === 0) resolve();
        else reject(error ?? new Error('the database did not take the spans'));
      });
    });
  }
  await exporter.shutdown();
}

void main(deserialize(readFileSync(0)) as LastExport);
