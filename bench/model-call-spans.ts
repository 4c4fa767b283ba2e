import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { recordSpans } from '../test/support/spans.ts';

/** Model calls as an agent makes them: with all columns set, and some further attributes. */
export function modelCallSpans(count: number): ReadableSpan[] {
  return recordSpans(
    (tracer) => {
      for (let i = 0; i < count; i += 1) {
        const hash = i.toString(16).padStart(64, '0');
        const attributes = {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': 'gpt-4o',
          'gen_ai.response.model': 'gpt-4o-2024-08-06',
          'gen_ai.usage.input_tokens': 500 + (i % 1000),
          'gen_ai.usage.output_tokens': i % 400,
          'gen_ai.response.id': `chatcmpl-${hash.slice(40)}`,
          'gen_ai.response.finish_reasons': ['stop'],
          'gen_ai.conversation.id': `conversation-${hash.slice(34, 62)}`,
          'session.id': `session-${hash.slice(34, 63)}`,
          'user.id': `user-${i % 1000}`,
          'observatory.prompt_hash': hash,
          'observatory.normalized_prompt_hash': (i % 50).toString(16).padStart(64, 'a'),
          'observatory.answer_hash': hash,
          'observatory.cost_usd': i / 1e6,
          'observatory.grounding_score': (i % 100) / 100,
          'observatory.hallucination_risk_score': (i % 97) / 97,
          'observatory.hallucination_risk_level': 'low',
          'server.address': 'api.openai.com',
          'app.route': '/v1/assistants/{assistant}/threads/{thread}/runs',
          'app.note': 'a short text that an application adds to each of its spans',
        };
        tracer.startSpan('chat gpt-4o', { attributes }).end();
      }
    },
    { service: 'payments-mcp', resource: { 'host.name': 'app-1', 'process.pid': 4711 } },
  );
}
