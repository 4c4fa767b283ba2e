/**
 * Mastra: its agents make spans where a call gives them one to start from, so each call is given one of ours; where the
 * application has set up Mastra's own observability, the spans of that are followed instead.
 */
import { context } from '@opentelemetry/api';
import { isObject, objectAt, stringAt } from '../../json/index.ts';
import { type CallHost, guard } from '../shared/index.ts';
import { findPart, followSpan, type MastraPart, rootPart } from './mastra-parts.ts';
import { type MastraSpan, QuietSpan } from './mastra-span.ts';
import { FrameworkRun } from './run.ts';
import { wrapMethod } from './wrap-method.ts';

/** From 1.33 on Mastra tells when a model is asked. */
export const MASTRA_RANGE = ['>=1.33.0 <2'];

type Host = () => CallHost | undefined;

/** Files of `@mastra/core` without their endings, and what is patched in each. */
export const MASTRA_FILES: ReadonlyMap<string, (exports: unknown, host: Host) => void> = new Map([
  ['dist/agent/index', patchAgents],
  ['dist/workflows/index', patchWorkflows],
]);

/** The Mastra that an agent is registered with. */
const owners = new WeakMap<object, unknown>();

/** Methods of an agent that make a run; what is streamed goes on after the call. */
const AGENT_CALLS = [
  { name: 'generate', isStream: false },
  { name: 'resumeGenerate', isStream: false },
  { name: 'stream', isStream: true },
  { name: 'resumeStream', isStream: true },
] as const;

function patchAgents(exports: unknown, host: Host): void {
  const prototype = findPrototype(exports, 'Agent');
  wrapMethod(prototype, '__registerMastra', (self, original, args) => {
    if (isObject(self)) owners.set(self, args[0]);
    return original.apply(self, args);
  });
  for (const { name, isStream } of AGENT_CALLS) {
    wrapMethod(prototype, name, (self, original, args) => {
      const started = guard('Mastra agent', () => startAgent(host(), self, args[1]));
      if (started === undefined) return original.apply(self, args);
      const { part, options } = started;
      const given = [args[0], options, ...args.slice(2)];
      const result = context.with(part.context, () => original.apply(self, given));
      return settled(result, part.run, isStream);
    });
  }
}

/** The run of a call, unless it is part of one, and the options with a span to start from. */
function startAgent(
  host: CallHost | undefined,
  agent: unknown,
  options: unknown,
): { readonly part: MastraPart; readonly options: unknown } | undefined {
  if (host === undefined || isInside(options)) return undefined;
  const thread = objectAt(options, 'memory')?.thread ?? (isObject(options) ? options.threadId : undefined);
  const run = new FrameworkRun(host, {
    operation: 'invoke_agent',
    name: stringAt(agent, 'name') ?? stringAt(agent, 'id'),
    conversationId: stringAt(thread, 'id') ?? (typeof thread === 'string' ? thread : undefined),
  });
  const part = rootPart(host, run, isObject(options) ? options.abortSignal : undefined);
  const owner = isObject(agent) ? owners.get(agent) : undefined;
  if (hasObservability(owner, options)) return { part, options };
  const tracingContext = { currentSpan: followSpan(new QuietSpan(), part) };
  return { part, options: { ...(isObject(options) ? options : {}), tracingContext } };
}

/** Workflows that are started by the application; those inside an agent are its own affair. */
function patchWorkflows(exports: unknown, host: Host): void {
  const prototype = findPrototype(exports, 'Run');
  for (const name of ['start', 'resume']) {
    wrapMethod(prototype, name, (self, original, args) => {
      const run = guard('Mastra workflow', () => {
        const current = host();
        if (current === undefined || isInside(args[0]) || findPart(context.active()) !== undefined) return;
        return new FrameworkRun(current, {
          operation: 'invoke_workflow',
          name: stringAt(self, 'workflowId'),
        });
      });
      if (run === undefined) return original.apply(self, args);
      const result = context.with(run.context, () => original.apply(self, args));
      return settled(result, run, false);
    });
  }
}

function findPrototype(exports: unknown, name: string): unknown {
  const found: unknown = isObject(exports) ? Reflect.get(exports, name) : undefined;
  return typeof found === 'function' ? found.prototype : undefined;
}

/** Whether the caller has a span already: it is an agent or a step that is traced. */
function isInside(options: unknown): boolean {
  return objectAt(objectAt(options, 'tracingContext'), 'currentSpan') !== undefined;
}

/** Ends the run with the promise that the application gets; `isStream`: only if it fails. */
function settled(result: unknown, run: FrameworkRun, isStream: boolean): unknown {
  if (!(result instanceof Promise)) return result;
  return result.then(
    (value: unknown) => {
      if (!isStream) guard('Mastra run', () => run.end());
      return value;
    },
    (error: unknown) => {
      guard('Mastra run', () => run.fail(error));
      throw error;
    },
  );
}

interface Observability {
  getSelectedInstance?(options: unknown): { startSpan(options: unknown): MastraSpan } | undefined;
}

const followed = new WeakSet<object>();

/** Whether Mastra makes spans of its own for a call; those that begin in a run of ours are followed from then on. */
function hasObservability(owner: unknown, options: unknown): boolean {
  const observability = objectAt(owner, 'observability') as Observability | undefined;
  const requestContext = isObject(options) ? options.requestContext : undefined;
  const instance = observability?.getSelectedInstance?.({ requestContext });
  if (instance === undefined) return false;
  if (followed.has(instance)) return true;
  followed.add(instance);
  const { startSpan } = instance;
  instance.startSpan = (about) => {
    const span = startSpan.call(instance, about);
    guard('Mastra span', () => {
      // Those with a parent are followed as its children.
      const part = objectAt(about, 'parent') === undefined ? findPart(context.active()) : undefined;
      if (part !== undefined) followSpan(span, part, about);
    });
    return span;
  };
  return true;
}
