import { instrument, startObservatory } from 'mcp-observatory';

// Sets up OpenTelemetry for a program that has none. Spans go to Postgres when MCP_OBSERVATORY_DATABASE_URL is set,
// and over OTLP when OTEL_EXPORTER_OTLP_ENDPOINT is.
const observatory = await startObservatory({ serviceName: 'payments-mcp' });
const interceptor = instrument({ serviceName: 'payments-mcp' });

const { result, record } = await interceptor.recordModelCall({
  model: 'gpt-4o',
  toolName: 'payment_risk_check',
  prompt:
    'Invoice #92311 at 2026-02-10T12:01:00Z for customer 1002 uuid 550e8400-e29b-41d4-a716-446655440000',
  response: 'Needs human review before approval.',

  // Governance metadata
  riskTier: 'high',
  promptTemplateId: 'payment-risk-v3',

  // Shadow mode
  isShadow: true,
  shadowParentTraceId: '11111111-1111-4111-8111-111111111111',

  // Gate and fallback routing
  confidence: 0.42,
  gateBlocked: true,
  fallbackUsed: true,
  fallbackType: 'human_review',
  fallbackReason: 'low_confidence',

  retries: 1,
});

console.log(result);
console.log(record.fields);
await observatory.shutdown();
