/** The program started by `exportNow`: sends what is on stdin. Exits with 0 if all was accepted, else says why not. */
import { readFileSync, writeSync } from 'node:fs';
import { deserialize } from 'node:v8';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { errorMessage } from '../base/index.ts';
import { postOtlp } from '../durable/index.ts';
import { decodeProtobuf } from '../otlp/index.ts';
import type { LastExport } from './last-export.ts';

async function main({ otlp, metrics, postgres }: LastExport): Promise<void> {
  const outcomes = await Promise.allSettled([
    ...[otlp, metrics].map((each) => (each === undefined ? undefined : postOtlp(each.target, each.body))),
    postgres === undefined ? undefined : store(postgres),
  ]);
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    process.exitCode = 1;
    // Read by the process that started this one.
    writeSync(2, `${errorMessage(outcome.reason)}\n`);
  }
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
