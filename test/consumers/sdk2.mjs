// A user's program on OpenTelemetry SDK 2, with the packed package installed beside it.
import { PGlite } from '@electric-sql/pglite';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { ObservatorySpanProcessor, PostgresSpanExporter } from 'mcp-observatory';
import { evaluations, runCalls } from './calls.mjs';

const database = await PGlite.create();
const provider = new NodeTracerProvider({
  spanProcessors: [
    evaluations,
    new ObservatorySpanProcessor(),
    new SimpleSpanProcessor(new PostgresSpanExporter({ connection: database, migrate: true })),
  ],
});
provider.register();
await runCalls(provider, database);
