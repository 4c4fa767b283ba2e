/**
 * The OpenAI Agents SDK: a trace processor, as the SDK offers them, opens and ends the spans; SDKs that are called
 * inside one of its spans add to ours.
 */
import { type Context, context, trace } from '@opentelemetry/api';
import { type MessagePart, parseMessages } from '../../interaction/index.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  parseContainerOrKeep,
  stringAt,
} from '../../json/index.ts';
import { readServiceTier, readUsageObject } from '../../signals/index.ts';
import { addContextSource, type CallHost, guard, replaceExports } from '../shared/index.ts';
import {
  type FrameworkAnswer,
  type FrameworkModelCall,
  FrameworkRun,
  type FrameworkToolCall,
} from './run.ts';
import { wrapMethod } from './wrap-method.ts';

export const OPENAI_AGENTS_RANGE = ['>=0.1.0 <1'];

type Host = () => CallHost | undefined;

/** A trace or a span of the SDK that is under way. */
interface Open {
  readonly context: Context;
  readonly run: FrameworkRun;
  /** Ends with it: the root of the trace, or an agent. */
  readonly own?: FrameworkRun;
  readonly model?: FrameworkModelCall;
  readonly tool?: FrameworkToolCall;
}

/** Most traces and spans under way; further ones are not traced. */
const MAX_OPEN = 50_000;
const open = new Map<string, Open>();

/** Files of `@openai/agents-core` without their endings, and what is patched in each. */
export const OPENAI_AGENTS_FILES: ReadonlyMap<string, <T>(exports: T, host: Host) => T> = new Map([
  ['dist/tracing/provider', patchProvider],
  ['dist/tracing/context', patchTraces],
]);

/** Registers the processor with each provider of traces, also after the application has set its own. */
function patchProvider<T>(exports: T, host: Host): T {
  const provider: unknown = isObject(exports) ? Reflect.get(exports, 'TraceProvider') : undefined;
  const prototype = (provider as { readonly prototype?: unknown } | undefined)?.prototype;
  const processor = processorFor(host);
  const registered = new WeakSet<object>();
  wrapMethod(prototype, 'setProcessors', (self, original, args) => {
    if (isObject(self)) registered.delete(self);
    return original.apply(self, args);
  });
  wrapMethod(prototype, 'createTrace', (self, original, args) => {
    guard('Agents SDK processor', () => {
      if (!isObject(self) || registered.has(self) || host() === undefined) return;
      registered.add(self);
      (self as { registerProcessor?(of: object): void }).registerProcessor?.(processor);
    });
    return original.apply(self, args);
  });
  return exports;
}

type Work = (of: unknown) => unknown;
type WithTrace = (work: Work, ...rest: unknown[]) => unknown;

/** Runs a trace in the context of its root, and tells the SDKs called inside which span they are called in. */
function patchTraces<T>(exports: T, host: Host): T {
  const current: unknown = isObject(exports) ? Reflect.get(exports, 'getCurrentSpan') : undefined;
  if (typeof current === 'function') addContextSource(() => contextOfCurrent(current as () => unknown, host));
  const patched = replaceExports(
    exports,
    ['withTrace'],
    (original) =>
      (of: unknown, work: Work, ...rest: unknown[]) =>
        (original as (of: unknown, work: Work, ...rest: unknown[]) => unknown)(
          of,
          (made) => runInContext(stringAt(made, 'traceId'), work, made),
          ...rest,
        ),
  );
  return replaceExports(
    patched,
    ['getOrCreateTrace'],
    (original) =>
      (work: Work, ...rest: unknown[]) =>
        (original as WithTrace)((of) => runInContext(stringAt(of, 'traceId'), work, of), ...rest),
  );
}

/**
 * The context of the SDK's current span, which it keeps in a storage of its own; none where the application has opened
 * a span since. A span opened inside that of a model call is another instrumentation's, of the same call.
 */
function contextOfCurrent(getCurrentSpan: () => unknown, host: Host): Context | undefined {
  if (open.size === 0) return undefined;
  const current = getCurrentSpan();
  const root = open.get(stringAt(current, 'traceId') ?? '');
  if (root === undefined || !isObject(current)) return undefined;
  const isAtRoot = trace.getActiveSpan() === trace.getSpan(root.context);
  if (!isAtRoot && !MODEL_SPANS.has(stringAt(objectAt(current, 'spanData'), 'type') ?? '')) return undefined;
  start(current, host);
  return open.get(stringAt(current, 'spanId') ?? '')?.context;
}

const MODEL_SPANS: ReadonlySet<string> = new Set(['response', 'generation']);

function runInContext(id: string | undefined, work: Work, argument: unknown): unknown {
  const active = open.get(id ?? '')?.context;
  return active === undefined ? work(argument) : context.with(active, () => work(argument));
}

function processorFor(host: Host): object {
  const settled = async (): Promise<void> => {};
  const handle = (name: string, work: (item: JsonObject) => void) => (item: unknown) => {
    guard(`Agents SDK ${name}`, () => isObject(item) && work(item));
    return settled();
  };
  return {
    onTraceStart: handle('trace start', (trace) => {
      const id = stringAt(trace, 'traceId');
      const current = host();
      if (id === undefined || current === undefined || open.size >= MAX_OPEN) return;
      const run = new FrameworkRun(current, {
        operation: 'invoke_workflow',
        name: stringAt(trace, 'name'),
        conversationId: stringAt(trace, 'groupId'),
      });
      open.set(id, { context: run.context, run, own: run });
    }),
    onTraceEnd: handle('trace end', (trace) => {
      const id = stringAt(trace, 'traceId') ?? '';
      open.get(id)?.own?.end();
      open.delete(id);
    }),
    onSpanStart: handle('span start', (span) => start(span, host)),
    onSpanEnd: handle('span end', (span) => {
      const id = stringAt(span, 'spanId') ?? '';
      const ended = open.get(id);
      open.delete(id);
      if (ended !== undefined) finish(ended, objectAt(span, 'spanData'), span.error);
    }),
    shutdown: settled,
    forceFlush: settled,
  };
}

/** Once for each span: processors are called one after the other, maybe after the first call that is made inside. */
function start(span: JsonObject, host: Host): void {
  const id = stringAt(span, 'spanId');
  const parent = open.get(stringAt(span, 'parentId') ?? '') ?? open.get(stringAt(span, 'traceId') ?? '');
  const current = host();
  if (id === undefined || parent === undefined || current === undefined) return;
  if (open.has(id) || open.size >= MAX_OPEN) return;
  open.set(id, started(current, parent, objectAt(span, 'spanData')));
}

function started(host: CallHost, parent: Open, data: JsonObject | undefined): Open {
  const name = stringAt(data, 'name');
  const { run } = parent;
  switch (stringAt(data, 'type')) {
    case 'agent': {
      const agent = new FrameworkRun(host, { operation: 'invoke_agent', name }, parent.context);
      return { context: agent.context, run: agent, own: agent };
    }
    case 'response':
    case 'generation': {
      const step = {
        provider: 'openai',
        model: stringAt(data, 'model'),
        messages: () => parseMessages(data?._input ?? data?.input),
      };
      const model = run.startModel(step, parent.context);
      return { context: model.context, run, model };
    }
    case 'function': {
      const step = { name: name ?? 'function', arguments: parseContainerOrKeep(data?.input) };
      const tool = run.startTool(step, parent.context);
      return { context: tool.context, run, tool };
    }
    default:
      return { context: parent.context, run };
  }
}

function finish({ own, model, tool }: Open, data: JsonObject | undefined, error: unknown): void {
  const failure = isObject(error)
    ? Object.assign(new Error(stringAt(error, 'message')), { name: 'AgentsError' })
    : undefined;
  if (failure !== undefined) {
    for (const part of [own, model, tool]) part?.fail(failure);
    return;
  }
  own?.end();
  model?.answer(readAnswer(data));
  tool?.end(data?.output);
}

/** What a generation span, or the response on a response span, says of the answer. */
function readAnswer(data: JsonObject | undefined): FrameworkAnswer {
  const response = objectAt(data, '_response') ?? data;
  return {
    id: stringAt(data, 'response_id') ?? stringAt(response, 'id'),
    model: stringAt(response, 'model'),
    usage: readUsageObject(objectAt(response, 'usage')),
    serviceTier: readServiceTier(response),
    message: { role: 'assistant', parts: listAt(response, 'output').flatMap(readParts) },
  };
}

/** Items of a response, or choices of a chat completion. */
function readParts(item: unknown): readonly MessagePart[] {
  if (stringAt(item, 'type') === 'function_call') {
    const args = isObject(item) ? parseContainerOrKeep(item.arguments) : undefined;
    return [
      { type: 'tool_call', id: stringAt(item, 'call_id'), name: stringAt(item, 'name'), arguments: args },
    ];
  }
  const message = listAt(item, 'choices').map((choice) => objectAt(choice, 'message'));
  return (message.length > 0 ? message : [item])
    .flatMap((each) => parseMessages(each, 'assistant'))
    .flatMap(({ parts }) => parts);
}
