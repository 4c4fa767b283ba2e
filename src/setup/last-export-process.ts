/** The program started by `exportNow`: sends the spans from stdin and exits with 0 if all were accepted. */
import { readFileSync } from 'node:fs';
import { deserialize } from 'node:v8';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { createOtlpExporter, decodeSpans } from '../durable/index.ts';
import type { LastExport } from './last-export.ts';

async function main({ otlp, postgres }: LastExport): Promise<void> {
  const taken = await Promise.all([
    otlp === undefined || createOtlpExporter(otlp.options, process.env).then(send(otlp.spans)),
    postgres === undefined || createPostgresExporter(postgres).then(send(postgres.spans)),
  ]);
  process.exitCode = taken.every(Boolean) ? 0 : 1;
}

/** Loaded only if there is a database, because the application waits for this program to end. */
async function createPostgresExporter({
  connection,
  migrate,
}: NonNullable<LastExport['postgres']>): Promise<SpanExporter> {
  const { PostgresSpanExporter } = await import('../postgres/index.ts');
  return new PostgresSpanExporter({ connection, migrate });
}

function send(spans: Uint8Array): (exporter: SpanExporter) => Promise<boolean> {
  return async (exporter) => {
    const taken = await new Promise<boolean>((resolve) => {
      exporter.export(decodeSpans(Buffer.from(spans)), ({ code }) => resolve(code === 0));
    });
    await exporter.shutdown();
    return taken;
  };
}

void main(deserialize(readFileSync(0)) as LastExport);
