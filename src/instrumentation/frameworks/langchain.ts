/**
 * LangChain and LangGraph: a callback handler in every run says what happens; what a run calls is called in the context
 * of its span.
 */
import { type Context, context } from '@opentelemetry/api';
import { isObject, listAt, objectAt, stringAt } from '../../json/index.ts';
import { type CallHost, guard } from '../shared/index.ts';
import { readChainAnswer, readMessages } from './langchain-messages.ts';
import { FrameworkModelCall, FrameworkRun, FrameworkToolCall } from './run.ts';
import { wrapMethod, wrapOutermost } from './wrap-method.ts';

export const LANGCHAIN_RANGE = ['>=0.3.0 <2'];

type Host = () => CallHost | undefined;

/** A run of LangChain: a chain, a model or a tool. Chains inside another have no span of their own. */
interface LangChainRun {
  readonly context: Context;
  readonly run: FrameworkRun | undefined;
  readonly isRoot?: boolean;
  readonly model?: FrameworkModelCall;
  readonly tool?: FrameworkToolCall;
}

/** Most runs under way; further ones are not traced. */
const MAX_RUNS = 50_000;
const runs = new Map<string, LangChainRun>();

/** Files of `@langchain/core` without their endings, and what is patched in each. */
export const LANGCHAIN_FILES: ReadonlyMap<string, (exports: unknown, host: Host) => void> = new Map([
  ['dist/callbacks/manager', patchCallbacks],
  ['dist/language_models/chat_models', (exports) => patchCalls(exports, 'BaseChatModel', MODEL_CALLS)],
  ['dist/language_models/llms', (exports) => patchCalls(exports, 'BaseLLM', MODEL_CALLS)],
  ['dist/tools/index', (exports) => patchCalls(exports, 'StructuredTool', TOOL_CALLS)],
  ['dist/singletons/async_local_storage/index', patchConfig],
]);

/**
 * Adds the handler where LangChain puts together the callbacks of a run, around what others do there: an instrumentation
 * that makes new callbacks of those it is given loses which run they were for, so the handler knows it.
 */
function patchCallbacks(exports: unknown, host: Host): void {
  const manager = readMember(exports, 'CallbackManager');
  const handler = handlerFor(host);
  wrapOutermost(manager, '_configureSync', (self, original, args) => {
    const configured = original.apply(self, args);
    return (
      guard('LangChain callbacks', () => {
        if (host() === undefined) return configured;
        const callbacks = (configured ?? new (self as new () => Callbacks)()) as Callbacks;
        if (callbacks.handlers.some(({ name }) => name === handler.name)) return callbacks;
        const parentId = stringAt(args[0], '_parentRunId');
        const isLost = parentId !== undefined && stringAt(callbacks, '_parentRunId') === undefined;
        callbacks.addHandler(isLost ? Object.assign(Object.create(handler), { parentId }) : handler, true);
        return callbacks;
      }) ?? configured
    );
  });
}

interface Callbacks {
  readonly handlers: readonly { readonly name?: string }[];
  addHandler(handler: object, isInherited: boolean): void;
}

/** Methods through which a base class is called, and those of its subclasses that it calls with a run's manager. */
const MODEL_CALLS = { from: ['generate', '_streamIterator'], to: ['_generate', '_streamResponseChunks'] };
const TOOL_CALLS = { from: ['call'], to: ['_call'] };

function patchCalls(exports: unknown, name: string, { from, to }: typeof MODEL_CALLS): void {
  const base: unknown = (readMember(exports, name) as { prototype?: unknown } | undefined)?.prototype;
  for (const method of from) {
    wrapMethod(base, method, (self, original, args) => {
      guard('LangChain subclass', () => {
        for (const inner of to) wrapMethod(findOwner(self, inner, base), inner, callInRun);
      });
      return original.apply(self, args);
    });
  }
}

function callInRun(self: unknown, original: (...args: unknown[]) => unknown, args: unknown[]): unknown {
  const manager = args.find((each) => isObject(each) && typeof each.runId === 'string');
  const active = runs.get(stringAt(manager, 'runId') ?? '')?.context;
  if (active === undefined) return original.apply(self, args);
  const result = context.with(active, () => original.apply(self, args));
  return isAsyncGenerator(result) ? inContext(result, active) : result;
}

/** Each step of a generator runs where it is asked for, so each is given the context. */
function inContext(source: AsyncGenerator, active: Context): AsyncGenerator {
  const step = (name: 'next' | 'return' | 'throw') => (value?: unknown) =>
    context.with(active, () => source[name](value as never));
  const generator = Object.create(source) as AsyncGenerator;
  return Object.assign(generator, {
    next: step('next'),
    return: step('return'),
    throw: step('throw'),
    [Symbol.asyncIterator]: () => generator,
  });
}

/** Functions of chains, nodes of graphs and tools run with the configuration of their run. */
function patchConfig(exports: unknown): void {
  const storage = readMember(exports, 'AsyncLocalStorageProviderSingleton');
  const prototype: unknown = isObject(storage) ? Object.getPrototypeOf(storage) : undefined;
  wrapMethod(prototype, 'runWithConfig', (self, original, args) => {
    const [config, work, ...rest] = args;
    const callbacks = objectAt(config, 'callbacks');
    const active = runs.get(stringAt(callbacks, '_parentRunId') ?? '')?.context;
    if (active === undefined || typeof work !== 'function') return original.apply(self, args);
    return original.apply(self, [config, () => context.with(active, () => work()), ...rest]);
  });
}

function handlerFor(host: Host): { readonly name: string } & Record<string, unknown> {
  /** Positions of the ids among the arguments of LangChain's callbacks. */
  const start = (
    name: string,
    make: (current: CallHost, parent: LangChainRun | undefined, args: readonly unknown[]) => LangChainRun,
  ) =>
    function (this: unknown, ...args: unknown[]): void {
      guard(`LangChain ${name}`, () => {
        const [, , id, parentId = stringAt(this, 'parentId')] = args;
        const current = host();
        if (typeof id !== 'string' || current === undefined || runs.size >= MAX_RUNS) return;
        runs.set(id, make(current, runs.get(String(parentId)), args));
      });
    };
  const end =
    (name: string, finish: (run: LangChainRun, value: unknown) => void) =>
    (value: unknown, id: unknown): void => {
      guard(`LangChain ${name}`, () => {
        const run = runs.get(String(id));
        runs.delete(String(id));
        if (run !== undefined) finish(run, value);
      });
    };
  return {
    name: 'mcp-observatory',
    // In order with the run, not in the background.
    awaitHandlers: true,
    raiseError: false,
    handleChainStart: start('handleChainStart', startChain),
    handleChainEnd: end('handleChainEnd', ({ run, isRoot }) => isRoot === true && run?.end()),
    handleChainError: end('handleChainError', ({ run, isRoot }, error) => {
      if (isRoot !== true) return;
      // An interrupted graph waits for a person; it has not failed.
      if (isObject(error) && error.is_bubble_up === true) run?.end();
      else run?.fail(error);
    }),
    handleChatModelStart: start('handleChatModelStart', startModel),
    handleLLMStart: start('handleLLMStart', startModel),
    handleLLMEnd: end('handleLLMEnd', ({ model }, output) => model?.answer(readChainAnswer(output))),
    handleLLMError: end('handleLLMError', ({ model }, error) => model?.fail(error)),
    handleToolStart: start('handleToolStart', startTool),
    handleToolEnd: end('handleToolEnd', ({ tool }, output) => tool?.end(output)),
    handleToolError: end('handleToolError', ({ tool }, error) => tool?.fail(error)),
  };
}

function startChain(
  host: CallHost,
  parent: LangChainRun | undefined,
  args: readonly unknown[],
): LangChainRun {
  const [chain, , , , , metadata, , runName] = args;
  const thread = stringAt(metadata, 'thread_id');
  if (parent !== undefined) {
    // LangGraph says it to its nodes.
    if (thread !== undefined) parent.run?.inConversation(thread);
    return { context: parent.context, run: parent.run };
  }
  const name = typeof runName === 'string' ? runName : String(listAt(chain, 'id').at(-1) ?? 'chain');
  const agent = stringAt(metadata, 'lc_agent_name');
  const run = new FrameworkRun(host, {
    operation: agent === undefined ? 'invoke_workflow' : 'invoke_agent',
    name: agent ?? name,
    conversationId: thread,
  });
  return { context: run.context, run, isRoot: true };
}

function startModel(
  host: CallHost,
  parent: LangChainRun | undefined,
  args: readonly unknown[],
): LangChainRun {
  const [, input, , , extra, , metadata] = args;
  const params = objectAt(extra, 'invocation_params');
  const step = {
    provider: stringAt(metadata, 'ls_provider'),
    model: stringAt(metadata, 'ls_model_name') ?? stringAt(params, 'model'),
    messages: () => readMessages(input),
    tools: params?.tools,
  };
  const { run } = parent ?? {};
  const model =
    run === undefined
      ? new FrameworkModelCall(host, step, parent?.context ?? context.active())
      : run.startModel(step, parent?.context);
  return { context: model.context, run, model };
}

function startTool(host: CallHost, parent: LangChainRun | undefined, args: readonly unknown[]): LangChainRun {
  const [serialized, input, , , , , runName, toolCallId] = args;
  const name =
    typeof runName === 'string'
      ? runName
      : (stringAt(objectAt(serialized, 'kwargs'), 'name') ??
        String(listAt(serialized, 'id').at(-1) ?? 'tool'));
  const step = { name, id: typeof toolCallId === 'string' ? toolCallId : undefined, arguments: input };
  const { run } = parent ?? {};
  const tool =
    run === undefined
      ? new FrameworkToolCall(host, step, parent?.context ?? context.active())
      : run.startTool(step, parent?.context);
  return { context: tool.context, run, tool };
}

function readMember(exports: unknown, name: string): unknown {
  return isObject(exports) ? Reflect.get(exports, name) : undefined;
}

/** The prototype that has a method, unless it is the base class, which compares its own with that of a subclass. */
function findOwner(self: unknown, method: string, base: unknown): object | undefined {
  for (let at = self; isObject(at) && at !== base; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, method)) return at;
  }
  return undefined;
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator {
  return isObject(value) && Symbol.asyncIterator in value && typeof value.next === 'function';
}
