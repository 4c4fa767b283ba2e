import { SpanKind, SpanStatusCode, type TracerProvider } from '@opentelemetry/api';
import { instrument } from '../../src/index.ts';

/**
 * Records a little of everything: calls of two services and models with good and bad answers, failures, blocked calls,
 * fallbacks, shadow runs and tool calls. Deterministic except for times and ids.
 * @returns the trace id of a tree of spans.
 */
export async function recordTraffic(tracerProvider: TracerProvider): Promise<string> {
  for (const [serviceName, model] of [
    ['payments', 'gpt-4o'],
    ["o'brien", 'claude-sonnet-4-5'],
  ] as const) {
    const calls = instrument({ serviceName, tracerProvider });
    const usage = { inputTokens: 120, outputTokens: 40 };
    const template = { promptTemplateId: `${serviceName}-v3`, riskTier: 'high', model, usage };
    await calls.recordModelCall({
      ...template,
      prompt: 'Is invoice 92311 paid?',
      response: 'Invoice 92311 is paid.',
      retrievedContext: 'Invoice 92311 was paid in full.',
    });
    await calls.recordModelCall({
      ...template,
      prompt: 'Delete the account 7.',
      response: 'Done! The account was deleted successfully, 100% sure.',
      secondaryResponse: 'I could not delete 3 accounts.',
      toolResultSummary: 'error: permission denied, operation failed',
      confidence: 0.2,
      confidenceGateThreshold: 0.5,
      fallbackUsed: true,
      fallbackType: 'human_review',
      fallbackReason: 'low_confidence',
    });
    await calls.recordModelCall({
      ...template,
      prompt: 'And 8?',
      response: '8 is open.',
      isShadow: true,
      shadowParentTraceId: '0af7651916cd43dd8448eb211c80319c',
    });
    await calls
      .recordModelCall({ ...template, prompt: 'And 9?', call: () => Promise.reject(new Error('429')) })
      .catch(() => {});
    await calls.recordModelCall({ ...template, model: 'house-model', prompt: 'Hi', response: 'Hi.' });
  }
  const tracer = tracerProvider.getTracer('traffic');
  return tracer.startActiveSpan('invoke_agent', (root) => {
    for (const decision of ['allow', 'deny', 'require_approval']) {
      const attributes = {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'search',
        'observatory.mcp.server.name': 'docs',
        'observatory.mcp.client.name': 'assistant',
        'observatory.policy_decision': decision,
        'observatory.policy_reason': decision === 'allow' ? 'ALLOWED' : 'NOT_ON_ALLOWLIST',
        'observatory.gate_blocked': decision !== 'allow',
      };
      const span = tracer.startSpan('tools/call search', { kind: SpanKind.CLIENT, attributes });
      if (decision === 'deny') span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
    root.end();
    return root.spanContext().traceId;
  });
}
