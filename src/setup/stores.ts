/** Where spans are sent: the database and the receiver of the environment or the options. */
import { join } from 'node:path';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { createOtlpExporter, DurableSpanProcessor } from '../durable/index.ts';
import type { PostgresSpanExporter } from '../postgres/index.ts';
import type { Destinations } from './last-export.ts';
import type { ResolvedStartOptions } from './options.ts';

interface Store {
  readonly exporter: PostgresSpanExporter;
  readonly processor: DurableSpanProcessor;
}

export async function openStore(resolved: ResolvedStartOptions): Promise<Store | undefined> {
  const { postgres: connection, migrate, flushOnExit: isFlushed } = resolved;
  if (connection === undefined) return undefined;
  // Loaded here, so that a program that only sends spans over OTLP does not load the exporter.
  const postgres = await import('../postgres/index.ts');
  const exporter = new postgres.PostgresSpanExporter({ connection, migrate, holdsProcess: !isFlushed });
  return { exporter, processor: sendWith(exporter, 'postgres', resolved) };
}

export async function openSender(resolved: ResolvedStartOptions): Promise<Destinations['otlp']> {
  if (resolved.otlp === undefined) return undefined;
  const exporter = await createOtlpExporter(resolved.otlp, process.env);
  return { processor: sendWith(exporter, 'otlp', resolved), exporter };
}

function sendWith(
  exporter: SpanExporter,
  name: string,
  { spool, batches }: ResolvedStartOptions,
): DurableSpanProcessor {
  const directory = spool === undefined ? undefined : { directory: join(spool, name) };
  return new DurableSpanProcessor({ exporter, spool: directory, ...batches });
}
