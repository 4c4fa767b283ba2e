// A user's program on OpenTelemetry SDK 3, with the packed package installed beside it.
import { PGlite } from '@electric-sql/pglite';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ObservatorySpanProcessor, PostgresSpanExporter } from 'mcp-observatory';
import { evaluations, runCalls } from './calls.mjs';

const database = await PGlite.create();
const exporter = new PostgresSpanExporter({ connection: database, migrate: true });
const provider = new TracerProvider({
  spanProcessors: [evaluations, new ObservatorySpanProcessor(), new SimpleSpanProcessor({ exporter })],
});
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
await runCalls(provider, database);
