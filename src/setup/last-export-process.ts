/** The program started by `exportNow`: sends what is on stdin. Exits with 0 if all was
 * accepted, else says on stderr why not, as JSON by part. */
import { readFileSync, writeSync } from 'node:fs';
import { deserialize } from 'node:v8';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { errorMessage } from '../base/index.ts';
import { postOtlp } from '../durable/index.ts';
import { decodeProtobuf } from '../otlp/index.ts';
import type { LastExport } from './last-export.ts';

async function main({ otlp, metrics, postgres }: LastExport): Promise<void> {
  const failures: Record<string, string> = {};
  const attempt = (part: keyof LastExport, work: Promise<unknown> | undefined) =>
    work?.catch((error: unknown) => {
      failures[part] = errorMessage(error);
    });
  await Promise.all([
    attempt('otlp', otlp && postOtlp(otlp.target, otlp.body)),
    attempt('metrics', metrics && postOtlp(metrics.target, metrics.body)),
    attempt('postgres', postgres && store(postgres)),
  ]);
  if (Object.keys(failures).length === 0) return;
  process.exitCode = 1;
  // Read by the process that started this one.
  writeSync(2, JSON.stringify(failures));
}

async function store({ connection, migrate, requests }: NonNullable<LastExport['postgres']>): Promise<void> {
  // Loaded only if there is a database, because the application waits for this program to end.
  const { PostgresSpanExporter } = await import('../postgres/index.ts');
  const exporter: SpanExporter = new PostgresSpanExporter({ connection, migrate });
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
