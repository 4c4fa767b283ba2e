/**
 * The Claude Agent SDK: its messages tell what its process does. They have the usage of a model call only where partial
 * messages are asked for, so those are asked for, and left out for an application that did not.
 */
import { context, createContextKey } from '@opentelemetry/api';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../json/index.ts';
import { type CallHost, guard, replaceExports } from '../shared/index.ts';
import { ClaudeRun } from './claude-run.ts';

export const CLAUDE_AGENT_RANGE = ['>=0.3.0 <1'];

type Host = () => CallHost | undefined;
type Step = Promise<IteratorResult<unknown>>;

const RUN = createContextKey('mcp-observatory.claude-agent');

/** Follows each query, and runs the tools of servers in this process inside the run that calls them. */
export function patchClaudeAgent<T>(exports: T, host: Host): T {
  const patched = replaceExports(exports, ['query'], (original) => {
    const query = (...args: unknown[]): unknown => {
      const started = guard('Claude Agent query', () => startQuery(host(), args[0]));
      if (started === undefined) return Reflect.apply(original as () => unknown, undefined, args);
      const { run, given, isQuiet } = started;
      const active = run.context.setValue(RUN, run);
      try {
        const result = context.with(active, () =>
          Reflect.apply(original as () => unknown, undefined, [given]),
        );
        guard('Claude Agent messages', () => follow(result, run, isQuiet));
        return result;
      } catch (error) {
        guard('Claude Agent query', () => run.fail(error));
        throw error;
      }
    };
    return query;
  });
  return replaceExports(
    patched,
    ['createSdkMcpServer'],
    (original) =>
      (options: unknown, ...rest: unknown[]) => {
        const given = guard('Claude Agent tools', () => withTools(options)) ?? options;
        return Reflect.apply(original as () => unknown, undefined, [given, ...rest]);
      },
  );
}

/** @returns with `isQuiet`, whether partial messages are kept from the application. */
function startQuery(
  host: CallHost | undefined,
  about: unknown,
): { readonly run: ClaudeRun; readonly given: JsonObject; readonly isQuiet: boolean } | undefined {
  if (host === undefined || !isObject(about)) return undefined;
  const options = objectAt(about, 'options');
  return {
    run: new ClaudeRun(host, about.prompt, stringAt(options, 'agent'), stringAt(options, 'model')),
    given: { ...about, options: { ...options, includePartialMessages: true } },
    isQuiet: options?.includePartialMessages !== true,
  };
}

/** Handlers of tools, called by the SDK with the id that the model gave the call. */
function withTools(options: unknown): unknown {
  const server = stringAt(options, 'name');
  const tools = listAt(options, 'tools').map((tool) => {
    const handler: unknown = isObject(tool) ? tool.handler : undefined;
    const name = stringAt(tool, 'name');
    if (typeof handler !== 'function' || name === undefined) return tool;
    const observed = function (this: unknown, ...args: unknown[]): unknown {
      const run = context.active().getValue(RUN);
      const id = stringAt(objectAt(args[1], '_meta'), 'claudecode/toolUseId');
      const active =
        run instanceof ClaudeRun && id !== undefined
          ? guard('Claude Agent tool', () => run.startTool(id, { name, server, arguments: args[0] }))
          : undefined;
      const work = () => Reflect.apply(handler, this, args);
      return active === undefined ? work() : context.with(active, work);
    };
    return { ...(tool as object), handler: observed };
  });
  return tools.length === 0 || !isObject(options) ? options : { ...options, tools };
}

/** Reads each message that the application asks for. */
function follow(query: unknown, run: ClaudeRun, isQuiet: boolean): void {
  if (!isObject(query)) return;
  const iterate: unknown = Reflect.get(query, Symbol.asyncIterator);
  if (typeof iterate !== 'function') return;
  const { next, return: close, throw: fail } = query as unknown as AsyncGenerator;
  const steps = observed({ next, return: close, throw: fail }, query, run, isQuiet);
  for (const [name, value] of Object.entries(steps)) define(query, name, value);
  define(query, Symbol.asyncIterator, function (this: unknown) {
    const source = Reflect.apply(iterate, query, []) as AsyncGenerator;
    const iterator = Object.create(source) as AsyncGenerator;
    const inner = { next: source.next, return: source.return, throw: source.throw };
    Object.assign(iterator, observed(inner, source, run, isQuiet));
    return Object.assign(iterator, { [Symbol.asyncIterator]: () => iterator });
  });
}

function define(owner: object, name: string | symbol, value: unknown): void {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}

type Steps = Pick<AsyncGenerator, 'next' | 'return' | 'throw'>;

function observed(steps: Steps, source: object, run: ClaudeRun, isQuiet: boolean): Steps {
  /** Two requests at once get the messages in order. */
  let last: Promise<unknown> = Promise.resolve();
  const nextShown = async (args: []): Step => {
    for (;;) {
      const result = await steps.next.apply(source, args);
      if (result.done === true) {
        guard('Claude Agent end', () => run.end());
        return result;
      }
      guard('Claude Agent message', () => isObject(result.value) && run.read(result.value));
      if (!isQuiet || !isPartial(result.value)) return result;
    }
  };
  const failing = async (work: () => Step): Step => {
    try {
      return await work();
    } catch (error) {
      guard('Claude Agent failure', () => run.fail(error));
      throw error;
    }
  };
  return {
    next: (...args) => {
      const step = last.then(() => failing(() => nextShown(args as [])));
      last = step.catch(() => {});
      return step;
    },
    return: (value) => {
      guard('Claude Agent end', () => run.end());
      return steps.return.apply(source, [value]);
    },
    throw: (error) => failing(() => steps.throw.apply(source, [error])),
  };
}

/** What comes only where partial messages are asked for. */
function isPartial(message: unknown): boolean {
  const type = stringAt(message, 'type');
  return type === 'stream_event' || (type === 'system' && stringAt(message, 'status') === 'requesting');
}
