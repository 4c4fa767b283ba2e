import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';

export type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** Exports and waits for the answer. */
export function exportSpans(exporter: SpanExporter, spans: readonly ReadableSpan[]): Promise<ExportResult> {
  return new Promise((resolve) => exporter.export([...spans], resolve));
}
