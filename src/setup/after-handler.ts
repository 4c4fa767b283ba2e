/**
 * On AWS Lambda, where a process is suspended as soon as it has answered, the handler's answer waits for its spans. How a
 * handler is found: docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html.
 */
import { basename, dirname, resolve } from 'node:path';
import { Hook as RequireHook } from 'require-in-the-middle';
import { flushNow } from './exit.ts';
import { onImport } from './registration/index.ts';

type Handler = (...args: unknown[]) => unknown;
type Env = Readonly<Record<string, string | undefined>>;

/** Of the time that a function has left, the share that spans may take. */
const SHARE = 0.5;

/** Has the handler that this environment names send the spans of each call. Elsewhere it does nothing. */
export function flushAfterHandler(env: Env): void {
  const { _HANDLER: handler, LAMBDA_TASK_ROOT: root } = env;
  if (handler === undefined || root === undefined || env.AWS_LAMBDA_RUNTIME_API === undefined) return;
  const file = basename(handler);
  const [stem = '', ...members] = file.split('.');
  const path = resolve(root, dirname(handler), stem);
  const files = ['.js', '.mjs', '.cjs'].map((extension) => `${path}${extension}`);
  new RequireHook(files, (exports) => {
    wrapMember(exports as object, members);
    return exports;
  });
  onImport(files, (exports) => wrapMember(exports, members));
}

function wrapMember(exports: object, members: readonly string[]): void {
  const last = members.at(-1) ?? '';
  let owner: unknown = exports;
  for (const name of members.slice(0, -1)) owner = Reflect.get(Object(owner), name);
  const handler: unknown = Reflect.get(Object(owner), last);
  if (typeof handler === 'function') Reflect.set(Object(owner), last, flushing(handler as Handler));
}

/** The same handler, by promise or callback, with what the runtime reads from it: its length, and marks of streams. */
function flushing(handler: Handler): Handler {
  return new Proxy(handler, {
    apply(target, self, args: unknown[]) {
      const left = remaining(args) * SHARE;
      const own = args.map((arg) =>
        typeof arg !== 'function'
          ? arg
          : (...answer: unknown[]) => void flushNow(left).then(() => Reflect.apply(arg, undefined, answer)),
      );
      const result: unknown = Reflect.apply(target, self, own);
      if (!(result instanceof Promise)) return result;
      return result.finally(() => flushNow(left));
    },
  });
}

/** Milliseconds that the function has, by the context among its arguments. */
function remaining(args: readonly unknown[]): number {
  for (const arg of args) {
    const ask: unknown = Reflect.get(Object(arg), 'getRemainingTimeInMillis');
    if (typeof ask === 'function') return Number(Reflect.apply(ask, arg, [])) || 0;
  }
  return Number.POSITIVE_INFINITY;
}
