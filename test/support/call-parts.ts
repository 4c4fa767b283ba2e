/** Runs of agents, tools and model calls, by the instrumentation that makes each span. */
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';

/** A span of a run, by the instrumentation that makes it. */
export interface Part {
  readonly scope: string;
  readonly attributes: Attributes;
  readonly kind?: SpanKind;
  readonly parts?: readonly Part[];
  readonly fails?: boolean;
}

export const usage = (tokens: number) => ({
  'gen_ai.usage.input_tokens': tokens,
  'gen_ai.usage.output_tokens': tokens / 10,
});

/** A model call as our instrumentations, and many others, describe it. */
export const chat = (scope: string, tokens: number, id?: string, parts?: readonly Part[]): Part => ({
  scope,
  kind: SpanKind.CLIENT,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    ...(id === undefined ? {} : { 'gen_ai.response.id': id }),
    ...usage(tokens),
  },
  ...(parts === undefined ? {} : { parts }),
});

/** A model call that failed, which has no usage. */
export const failed = (scope: string, parts: readonly Part[] = [], name = 'gpt-4o-mini'): Part => ({
  scope,
  kind: SpanKind.CLIENT,
  attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': name },
  parts,
  fails: true,
});

export const openInference = (kind: string, tokens: number, parts: readonly Part[]): Part => ({
  scope: '@arizeai/openinference-instrumentation-openai',
  attributes: {
    'openinference.span.kind': kind,
    'llm.model_name': 'gpt-4o-mini',
    'llm.provider': 'openai',
    'llm.token_count.prompt': tokens,
    'llm.token_count.completion': tokens / 10,
  },
  parts,
});

export const aiSdk = (operation: string, tokens: number, parts: readonly Part[] = []): Part => ({
  scope: 'ai',
  attributes: {
    'ai.operationId': operation,
    'ai.model.id': 'gpt-4o-mini',
    'ai.model.provider': 'openai.chat',
    'ai.usage.inputTokens': tokens,
    'ai.usage.outputTokens': tokens / 10,
  },
  parts,
});

export const plain = (parts: readonly Part[]): Part => ({
  scope: 'http',
  attributes: { 'url.full': 'x' },
  parts,
});
export const agent = (tokens: number, parts: readonly Part[]): Part => ({
  scope: 'mcp-observatory',
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.request.model': 'gpt-4o-mini',
    'observatory.cost_usd': 5,
    ...usage(tokens),
  },
  parts,
});
export const tool = (parts: readonly Part[]): Part => ({
  scope: 'app',
  attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'ask', ...usage(70) },
  parts,
});

/** A span whose words nobody has agreed on. */
export const own = (attributes: Attributes, parts: readonly Part[] = []): Part => ({
  scope: 'app',
  attributes,
  parts,
});
export const model = { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o-mini' };

export const OURS = 'mcp-observatory/openai';

/** Makes the spans of a run; with `isStreamed`, each ends before those in it, as around a stream. */
export function make(
  part: Part,
  tracers: (scope: string) => Tracer,
  isStreamed: boolean,
  around: Context,
): void {
  const { scope, attributes, kind = SpanKind.INTERNAL, parts = [], fails = false } = part;
  const span = tracers(scope).startSpan(`${scope} span`, { attributes, kind }, around);
  if (fails) span.setStatus({ code: SpanStatusCode.ERROR });
  if (isStreamed) span.end();
  const inner = trace.setSpan(around, span);
  for (const child of parts) make(child, tracers, isStreamed, inner);
  if (!isStreamed) span.end();
}

export function spansOf(
  run: Part,
  isStreamed: boolean,
  processors: readonly SpanProcessor[] = [],
): ReadableSpan[] {
  return recorded(processors, (tracers) => make(run, tracers, isStreamed, ROOT_CONTEXT));
}

/** The spans that are made with the tracers, as they end. */
export function recorded(
  processors: readonly SpanProcessor[],
  act: (tracers: (scope: string) => Tracer) => void,
): ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    spanProcessors: [...processors, new SimpleSpanProcessor(exporter)],
  });
  act((scope) => provider.getTracer(scope));
  return exporter.getFinishedSpans();
}
