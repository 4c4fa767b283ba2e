// The names that the tests use of SDK 2's `sdk-trace-node`, which SDK 3 dropped, on SDK 3.
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { TracerProvider, SimpleSpanProcessor as TracksExporter } from '@opentelemetry/sdk-trace';

export { InMemorySpanExporter } from '@opentelemetry/sdk-trace';

export class SimpleSpanProcessor extends TracksExporter {
  constructor(exporter) {
    super({ exporter });
  }
}

export class NodeTracerProvider extends TracerProvider {
  register() {
    trace.setGlobalTracerProvider(this);
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(
      new CompositePropagator({
        propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
      }),
    );
  }
}
