import { DiagLogLevel, diag, type Span, type Tracer } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanLimits,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { ObservatorySpanProcessor, type ObservatorySpanProcessorOptions } from '../../src/processor/index.ts';

export interface Observed {
  readonly tracer: Tracer;
  readonly processor: ObservatorySpanProcessor;
  /** Spans as an exporter gets them, in the order they ended. */
  spans(): ReadableSpan[];
  /** The only span there is. */
  span(): ReadableSpan;
}

export interface ObservedSetup {
  readonly options?: ObservatorySpanProcessorOptions;
  readonly limits?: SpanLimits;
  readonly sampler?: Sampler;
  readonly scope?: string;
  readonly resource?: ReadableSpan['resource'];
  /** Where the exporting processor stands: `after` the observatory's by default. */
  readonly exporter?: 'before' | 'after';
  /** Processors before the observatory's. */
  readonly others?: readonly SpanProcessor[];
  /** Changes the processor, to imitate SDKs. */
  readonly wrap?: (processor: ObservatorySpanProcessor) => SpanProcessor;
}

/** A tracer of the real SDK with the processor under test. */
export function observe(setup: ObservedSetup = {}): Observed {
  const memory = new InMemorySpanExporter();
  const exporting = new SimpleSpanProcessor(memory);
  const processor = new ObservatorySpanProcessor(setup.options);
  const own = [...(setup.others ?? []), setup.wrap?.(processor) ?? processor];
  const provider = new BasicTracerProvider({
    spanProcessors: setup.exporter === 'before' ? [exporting, ...own] : [...own, exporting],
    ...(setup.resource === undefined ? {} : { resource: setup.resource }),
    ...(setup.limits === undefined ? {} : { spanLimits: setup.limits }),
    ...(setup.sampler === undefined ? {} : { sampler: setup.sampler }),
  });
  return {
    tracer: provider.getTracer(setup.scope ?? 'test'),
    processor,
    spans: () => memory.getFinishedSpans(),
    span: () => {
      const [span, ...more] = memory.getFinishedSpans();
      if (span === undefined || more.length > 0)
        throw new Error(`Expected one span, got ${more.length + (span ? 1 : 0)}`);
      return span;
    },
  };
}

/** Runs code and gives back what it logged through `diag`. */
export function captureDiag(run: () => void): string[] {
  const lines = listenToDiag();
  try {
    run();
  } finally {
    diag.disable();
  }
  return lines;
}

/** As {@link captureDiag}, for work that takes its time and may look at what it has logged so far. */
export async function captureDiagOf(work: (soFar: readonly string[]) => Promise<void>): Promise<string[]> {
  const lines = listenToDiag();
  try {
    await work(lines);
  } finally {
    diag.disable();
  }
  return lines;
}

/** What is logged from now on, until `diag` is disabled. */
export function listenToDiag(): string[] {
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  diag.setLogger(
    { error: log, warn: log, info: log, debug: log, verbose: log },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  return lines;
}

export const CHAT_ATTRIBUTES = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
} as const;

/** The content attributes of a one-turn chat. */
export function chatContent(prompt: string, answer: string): Record<string, string> {
  return {
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: prompt }] }]),
    'gen_ai.output.messages': JSON.stringify([
      { role: 'assistant', parts: [{ type: 'text', content: answer }] },
    ]),
  };
}

/** Ends a chat span with these attributes added. */
export function chat(
  tracer: Tracer,
  attributes: Readonly<Record<string, unknown>> = {},
  before?: (span: Span) => void,
): void {
  const span = tracer.startSpan('chat gpt-4o', { kind: 2, attributes: CHAT_ATTRIBUTES });
  span.setAttributes(attributes as Record<string, string>);
  before?.(span);
  span.end();
}
