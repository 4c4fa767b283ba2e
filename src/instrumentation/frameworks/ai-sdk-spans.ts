/**
 * Versions 5 and 6 of the AI SDK, by its own spans: it makes them where `experimental_telemetry` says so, with the
 * tracer that it names. The tracer given here keeps content off the spans and passes it to the processor.
 */
import {
  type Attributes,
  type AttributeValue,
  type Context,
  context as contextApi,
  type Link,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { semconv } from '../../base/index.ts';
import {
  attachInteraction,
  normalizeProvider,
  readInteraction,
  recordModelCall,
} from '../../interaction/index.ts';
import { isObject, toText } from '../../json/index.ts';
import { type CallHost, errorFacts, guard, replaceExports } from '../shared/index.ts';

export const AI_SDK_SPANS_RANGE = ['>=5.0.0 <7'];

const FUNCTIONS = [
  'generateText',
  'streamText',
  'generateObject',
  'streamObject',
  'embed',
  'embedMany',
  'rerank',
];
const AGENTS = ['ToolLoopAgent', 'Experimental_Agent'];

type Host = () => CallHost | undefined;

/** Switches telemetry on in every call that does not say anything about it. */
export function patchAiSdk<T>(exports: T, host: Host): T {
  const patched = replaceExports(exports, FUNCTIONS, (original) => withTelemetry(original as Call, host));
  return replaceExports(patched, AGENTS, (original) => agentWithTelemetry(original as Agent, host));
}

type Call = (options: unknown, ...rest: unknown[]) => unknown;
type Agent = new (settings: unknown) => object;

function withTelemetry(original: Call, host: Host): Call {
  const call = function (this: unknown, options: unknown, ...rest: unknown[]): unknown {
    return Reflect.apply(original, this, [addTelemetry(options, host), ...rest]);
  };
  Object.defineProperty(call, 'name', { value: original.name });
  return call;
}

function agentWithTelemetry(Original: Agent, host: Host): Agent {
  const Patched = class extends Original {
    constructor(settings: unknown) {
      super(addTelemetry(settings, host));
    }
  };
  Object.defineProperty(Patched, 'name', { value: Original.name });
  return Patched;
}

function addTelemetry(options: unknown, host: Host): unknown {
  return (
    guard('AI SDK options', () => {
      const current = host();
      if (!isObject(options) || current === undefined) return options;
      const given = options.experimental_telemetry;
      if (isObject(given) && given.isEnabled !== undefined) return options;
      const telemetry = { ...(given as object), isEnabled: true, tracer: new AiSdkTracer(current) };
      return { ...options, experimental_telemetry: telemetry };
    }) ?? options
  );
}

/** Attributes with what was said; they reach the processor beside the span. */
const CONTENT: ReadonlySet<string> = new Set([
  'ai.prompt',
  'ai.prompt.messages',
  'ai.prompt.tools',
  'ai.prompt.toolChoice',
  'ai.response.text',
  'ai.response.object',
  'ai.response.reasoning',
  'ai.response.toolCalls',
  'ai.response.files',
  'ai.response.providerMetadata',
  'ai.toolCall.args',
  'ai.toolCall.result',
  'ai.value',
  'ai.values',
  'ai.embedding',
  'ai.embeddings',
  'ai.documents',
  'ai.ranking',
  'ai.schema',
]);

/** Tool calls that models have asked for, with the span of the model call; the oldest are forgotten. */
const chosen = new Map<string, SpanContext>();
const MAX_CHOSEN = 1000;
/** Longer lists of tool calls are not read for their ids. */
const MAX_CALLS_CHARS = 65_536;

class AiSdkTracer implements Tracer {
  readonly #host: CallHost;

  constructor(host: CallHost) {
    this.#host = host;
  }

  startSpan(name: string, options?: SpanOptions, parent?: Context): Span {
    return this.#start(name, options, parent).facade;
  }

  #start(name: string, options?: SpanOptions, parent?: Context): { span: Span; facade: Span } {
    const { kept, content } = divide(options?.attributes, this.#host.captureContent);
    const links = listLinks(kept);
    const span = this.#host.tracer.startSpan(
      name,
      { ...options, attributes: { ...kept, ...toolAttributes(kept) }, links },
      parent,
    );
    return { span, facade: quiet(span, kept, content, this.#host) };
  }

  startActiveSpan(name: string, ...args: unknown[]): never {
    const fn = args.at(-1) as (span: Span) => unknown;
    const [options, parent] = args.slice(0, -1) as [SpanOptions?, Context?];
    const active = parent ?? contextApi.active();
    const { span, facade } = this.#start(name, options, active);
    return contextApi.with(trace.setSpan(active, span), () => fn(facade)) as never;
  }
}

/** A call of a tool in the words of the conventions, so that an MCP call inside is recognized as the same call. */
function toolAttributes(attributes: Attributes): Attributes {
  if (attributes['ai.operationId'] !== 'ai.toolCall') return {};
  const name = toText(attributes['ai.toolCall.name']);
  const id = toText(attributes['ai.toolCall.id']);
  return {
    [semconv.ATTR_GEN_AI_OPERATION_NAME]: semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
    ...(name === undefined ? {} : { [semconv.ATTR_GEN_AI_TOOL_NAME]: name }),
    ...(id === undefined ? {} : { [semconv.ATTR_GEN_AI_TOOL_CALL_ID]: id }),
  };
}

function listLinks(attributes: Attributes): Link[] {
  const by = chosen.get(toText(attributes['ai.toolCall.id']) ?? '');
  return by === undefined ? [] : [{ context: by }];
}

function divide(attributes: Attributes | undefined, keepsAll: boolean) {
  const kept: Attributes = {};
  const content: Attributes = {};
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (!CONTENT.has(name)) kept[name] = value;
    else {
      content[name] = value;
      if (keepsAll) kept[name] = value;
    }
  }
  return { kept, content };
}

/** The span as the AI SDK sees it. */
function quiet(span: Span, started: Attributes, content: Attributes, host: CallHost): Span {
  const startMs = performance.now();
  const known: Attributes = { ...started };
  const add = (attributes: Attributes): void => {
    const { kept, content: said } = divide(attributes, host.captureContent);
    Object.assign(content, said);
    Object.assign(known, kept);
    span.setAttributes(kept);
  };
  const facade: Span = {
    spanContext: () => span.spanContext(),
    isRecording: () => span.isRecording(),
    setAttribute: (name: string, value: AttributeValue) => {
      add({ [name]: value });
      return facade;
    },
    setAttributes: (attributes: Attributes) => {
      add(attributes);
      return facade;
    },
    // Messages of errors may quote content.
    setStatus: (status) => {
      span.setStatus(host.captureContent ? status : { code: status.code });
      return facade;
    },
    recordException: (exception) => {
      if (host.captureContent) span.recordException(exception);
      else span.setAttribute(semconv.ATTR_ERROR_TYPE, errorFacts(exception, undefined).type);
    },
    addEvent: (...args) => {
      span.addEvent(...args);
      return facade;
    },
    addLink: (link) => {
      span.addLink(link);
      return facade;
    },
    addLinks: (links) => {
      span.addLinks(links);
      return facade;
    },
    updateName: (name) => {
      span.updateName(name);
      return facade;
    },
    end: (time) => {
      guard('AI SDK span', () => settle(span, known, content, host, startMs));
      span.end(time);
    },
  };
  return facade;
}

function settle(span: Span, known: Attributes, content: Attributes, host: CallHost, startMs: number): void {
  rememberCalls(span, content['ai.response.toolCalls']);
  const view = { attributes: { ...known, ...content }, events: [] };
  const read = readInteraction(view as never, undefined);
  attachInteraction(span, read);
  const operation = toText(known['ai.operationId']) ?? '';
  if (!host.metrics.enabled || !operation.includes('.do')) return;
  const model = toText(known[semconv.ATTR_GEN_AI_REQUEST_MODEL] ?? known['ai.model.id']);
  const about: Attributes = {
    [semconv.ATTR_GEN_AI_OPERATION_NAME]: operation.startsWith('ai.embed') ? 'embeddings' : 'chat',
    [semconv.ATTR_GEN_AI_PROVIDER_NAME]:
      normalizeProvider(toText(known[semconv.ATTR_GEN_AI_SYSTEM] ?? known['ai.model.provider']) ?? '') ??
      '_OTHER',
    ...(model === undefined ? {} : { [semconv.ATTR_GEN_AI_REQUEST_MODEL]: model }),
  };
  recordModelCall(host.metrics, about, read.usage, (performance.now() - startMs) / 1000);
}

function rememberCalls(span: Span, calls: AttributeValue | undefined): void {
  if (typeof calls !== 'string' || calls.length > MAX_CALLS_CHARS) return;
  const list: unknown = JSON.parse(calls);
  if (!Array.isArray(list)) return;
  for (const call of list) {
    const id = isObject(call) ? toText(call.toolCallId) : undefined;
    if (id === undefined) continue;
    chosen.set(id, span.spanContext());
    const [oldest] = chosen.keys();
    if (chosen.size > MAX_CHOSEN && oldest !== undefined) chosen.delete(oldest);
  }
}
