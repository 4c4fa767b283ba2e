import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { listAttributeNames, toField } from '../src/base/field-lookup.ts';
import type { FieldDefinition } from '../src/base/fields.ts';
import { instrument, ObservatorySpanProcessor } from '../src/index.ts';
import { startOtlpReceiver } from './support/otlp-receiver.ts';

const formats = [
  ['JSON', JsonExporter, 'application/json'],
  ['protobuf', ProtobufExporter, 'application/x-protobuf'],
] as const;

for (const [format, Exporter, contentType] of formats) {
  test(`an OTLP/HTTP receiver gets the spans with their observatory attributes, in ${format}`, async () => {
    await using receiver = await startOtlpReceiver();
    const tracerProvider = new NodeTracerProvider({
      spanProcessors: [
        new ObservatorySpanProcessor(),
        new BatchSpanProcessor(new Exporter({ url: receiver.url })),
      ],
    });
    const interceptor = instrument({ serviceName: 'payments-mcp', tracerProvider });
    const { record } = await interceptor.recordModelCall({
      model: 'gpt-4o',
      prompt: 'Is invoice 92311 paid? 😀',
      response: 'Invoice 92311 is paid.',
      retrievedContext: 'Invoice 92311 was paid in full.',
      riskTier: 'high',
      confidence: 0.9,
    });
    await tracerProvider.shutdown();

    assert.deepEqual(receiver.contentTypes, [contentType]);
    assert.equal(receiver.spans.length, 1);
    const [span] = receiver.spans;
    assert.equal(span?.traceId, record.traceId);
    assert.equal(span?.spanId, record.spanId);
    assert.equal(span?.kind, 3);
    const attributes = span?.attributes ?? {};
    const computed = [
      'prompt_hash',
      'normalized_prompt_hash',
      'answer_hash',
      'prompt_size_chars',
      'prompt_tokens',
      'cost_usd',
      'grounding_score',
      'verifier_score',
      'numeric_variance_score',
      'hallucination_risk_score',
      'hallucination_risk_level',
      'risk_tier',
      'confidence',
    ] as const;
    const fields = record.fields as Readonly<Record<string, unknown>>;
    for (const column of computed) {
      const field: FieldDefinition = toField(column);
      const camel = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      assert.notEqual(attributes[`observatory.${column}`], undefined, column);
      assert.deepEqual(attributes[listAttributeNames(field)[0] as string], fields[camel], column);
    }
  });
}
