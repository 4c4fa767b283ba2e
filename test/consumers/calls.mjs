// What both consumers do: one call through the interceptor, one span of another instrumentation; then the rows.
import { trace } from '@opentelemetry/api';
import { instrument } from 'mcp-observatory';

/** Counts the scores that reach exporters as events. */
export const evaluations = {
  count: 0,
  onStart() {},
  onEnd(span) {
    this.count += span.events.filter(({ name }) => name === 'gen_ai.evaluation.result').length;
  },
  async forceFlush() {},
  async shutdown() {},
};

export async function runCalls(provider, database) {
  const interceptor = instrument({ serviceName: 'consumer' });
  await interceptor.interceptModelCall({
    model: 'gpt-4o',
    prompt: 'Hello',
    response: 'Hello there',
    riskTier: 'low',
  });

  const span = trace.getTracer('another-instrumentation').startSpan('chat gpt-4o');
  span.setAttributes({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 1000,
    'gen_ai.usage.output_tokens': 100,
    'gen_ai.input.messages': messages('user', 'Hello', process.argv[2] === 'structured'),
    'gen_ai.output.messages': messages('assistant', 'Hello there', process.argv[2] === 'structured'),
  });
  span.end();

  await provider.forceFlush();
  const { rows } = await database.query(
    'SELECT span_name, prompt_hash, answer_hash, cost_usd, risk_tier, hallucination_risk_level FROM mcp_traces ORDER BY risk_tier NULLS LAST',
  );
  await provider.shutdown();
  await database.close();
  console.log(JSON.stringify({ node: process.version, rows, evaluations: evaluations.count }));
}

// SDK 3 takes structured values; SDK 2 only text.
function messages(role, content, structured) {
  const value = [{ role, parts: [{ type: 'text', content }] }];
  return structured ? value : JSON.stringify(value);
}
