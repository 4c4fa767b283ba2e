/**
 * What the processor adds to a span (start, attributes, end), by kind of span, compared with a processor that does
 * nothing.
 *
 *     npm run build && node dist/bench/span-processor.js
 *
 * Both alternate in one process, so that a busy machine slows both equally; times are medians over the rounds.
 */
import type { Attributes, Tracer } from '@opentelemetry/api';
import { BasicTracerProvider, NoopSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { attachInteraction } from '../src/interaction/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { distribution, median } from './spread.ts';

const HTTP: Attributes = {
  'http.request.method': 'POST',
  'url.full': 'https://example.com/orders',
  'server.address': 'example.com',
  'server.port': 443,
  'http.response.status_code': 200,
  'network.protocol.version': '1.1',
  'user_agent.original': 'node',
};

const CHAT: Attributes = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.response.model': 'gpt-4o-2024-08-06',
  'gen_ai.usage.input_tokens': 1200,
  'gen_ai.usage.output_tokens': 300,
};

const TEXT = 'The invoice 92311 of 2026-02-10 for customer 1002 needs a human review before approval. ';
const TEXTS = { prompt: TEXT.repeat(10), answer: TEXT.repeat(3), retrievedContext: TEXT.repeat(10) };
const MESSAGES: Attributes = {
  ...CHAT,
  'gen_ai.input.messages': JSON.stringify([
    { role: 'user', parts: [{ type: 'text', content: TEXTS.prompt }] },
  ]),
  'gen_ai.output.messages': JSON.stringify([
    { role: 'assistant', parts: [{ type: 'text', content: TEXTS.answer }] },
  ]),
};

const SPANS: readonly (readonly [name: string, live: (tracer: Tracer) => void])[] = [
  ['HTTP, left alone', (tracer) => tracer.startSpan('POST', { attributes: HTTP }).end()],
  ['chat, no text', (tracer) => tracer.startSpan('chat', { kind: 2, attributes: CHAT }).end()],
  ['chat, 1 KB as attributes', (tracer) => tracer.startSpan('chat', { kind: 2, attributes: MESSAGES }).end()],
  [
    'chat, 2 KB beside the span',
    (tracer) => {
      const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT });
      attachInteraction(span, TEXTS);
      span.end();
    },
  ],
];

const ROUNDS = 40;
const SPANS_PER_ROUND = 1000;

function tracerWith(processor: SpanProcessor): Tracer {
  return new BasicTracerProvider({ spanProcessors: [processor] }).getTracer('bench');
}

/** Microseconds per span of one round. */
function round(tracer: Tracer, live: (tracer: Tracer) => void): number {
  const start = performance.now();
  for (let i = 0; i < SPANS_PER_ROUND; i += 1) live(tracer);
  return ((performance.now() - start) * 1000) / SPANS_PER_ROUND;
}

console.log(`Node ${process.version}, ${process.arch}\n`);
console.log('span                          without us   with us   added us (quartiles)');
for (const [name, live] of SPANS) {
  const [without, withProcessor] = [
    tracerWith(new NoopSpanProcessor()),
    tracerWith(new ObservatorySpanProcessor()),
  ];
  const times: [number[], number[]] = [[], []];
  for (let i = 0; i < ROUNDS; i += 1) {
    times[0].push(round(without, live));
    times[1].push(round(withProcessor, live));
  }
  const added = times[1].map((time, i) => time - (times[0][i] ?? Number.NaN));
  const cells = times.map((all) => median(all).toFixed(2).padStart(9));
  console.log(`${name.padEnd(30)} ${cells.join(' ')}  ${distribution(added, 2)}`);
}
