/** The error behind a server's answer, which the answer itself has no place for, and its kind. */
import { type Attributes, context, type Span, trace } from '@opentelemetry/api';
import { errorClass } from '../../base/index.ts';
import { isObject, numberAt, readObject, stringAt } from '../../json/index.ts';
import type { McpMessage, McpSettings, ProtocolLike } from './internal-types.ts';
import type { RequestOutcome } from './outcome.ts';
import { type Method, patchMethod } from './patch-method.ts';
import type { Telemetry } from './telemetry.ts';

/**
 * Whose failure it is: the program's (`bug`), the caller's (`bad_arguments`, `unknown_tool`), what the program calls
 * (`upstream`), or nobody's (`timeout`, `cancelled`). Absent where the error does not say.
 */
type ErrorKind = 'bug' | 'bad_arguments' | 'unknown_tool' | 'timeout' | 'cancelled' | 'upstream';

const ATTR_ERROR_KIND = 'observatory.error_kind';

interface Failure {
  readonly error?: unknown;
  readonly kind?: ErrorKind | undefined;
}

const failures = new WeakMap<Span, Failure>();
/** The `McpServer` in front of a `Server`. */
const facades = new WeakMap<object, object>();

/** Has an `McpServer` tell what its tools throw, which it answers with a text. @returns names of patched methods */
export function watchTools(facade: object, telemetry: Telemetry): readonly string[] {
  const watch = (name: string, kind?: ErrorKind) =>
    patchMethod(facade, name, telemetry, (self, args, original, { guard }) => {
      const span = trace.getSpan(context.active());
      const done: unknown = original.apply(self, args);
      const note = (error: unknown) => span !== undefined && failures.set(span, { error, kind });
      guard.observe('mcp.tool', done, () => {}, note);
      return done;
    });
  const isPatched = {
    setToolRequestHandlers: patchMethod(facade, 'setToolRequestHandlers', telemetry, linkServer),
    validateToolInput: watch('validateToolInput', 'bad_arguments'),
    executeToolHandler: watch('executeToolHandler'),
    validateToolOutput: watch('validateToolOutput', 'bug'),
  };
  return Object.entries(isPatched).flatMap(([name, is]) => (is ? [`McpServer.${name}`] : []));
}

function linkServer(self: unknown, args: unknown[], original: Method, { guard }: Telemetry): unknown {
  guard.run('mcp.facade', () => {
    const { server } = self as { readonly server?: unknown };
    if (isObject(server)) facades.set(server, self as object);
  });
  return original.apply(self, args);
}

/** Dispatches a request and notes what its handler throws. As in `watchHandler`, the handler is replaced for that time. */
export function watchRequest(
  protocol: ProtocolLike,
  { params, method }: McpMessage,
  span: Span,
  { guard }: Telemetry,
  dispatch: () => unknown,
): unknown {
  const table = protocol._requestHandlers;
  const handler = table instanceof Map ? table.get(String(method)) : undefined;
  if (!(table instanceof Map) || typeof handler !== 'function') return dispatch();
  const note = (failure: Failure) => {
    const isUnknown = method === 'tools/call' && !isOffered(protocol, String(params?.name));
    if (isUnknown) failures.set(span, { ...failure, kind: 'unknown_tool' });
    else if (!failures.has(span) && failure.error !== undefined) failures.set(span, failure);
  };
  const watched = function (this: unknown, ...args: unknown[]): unknown {
    const handled: unknown = (handler as Method).apply(this, args);
    guard.observe(
      'mcp.receive.handler',
      handled,
      (result) => isObject(result) && result.isError === true && note({}),
      (error) => note({ error }),
    );
    return handled;
  };
  table.set(String(method), watched);
  try {
    return dispatch();
  } finally {
    table.set(String(method), handler);
  }
}

/** Whether a server has a tool and offers it, as far as that is seen. */
function isOffered(protocol: ProtocolLike, name: string): boolean {
  const facade = facades.get(protocol) as { readonly _registeredTools?: unknown } | undefined;
  if (!isObject(facade?._registeredTools)) return true;
  const { [name]: tool } = facade._registeredTools;
  return isObject(tool) && tool.enabled !== false;
}

/** On the span of a request that failed: its kind, and for a server the exception. */
export function describeException(
  span: Span,
  { error: thrown, errorType }: RequestOutcome,
  isServer: boolean,
  settings: McpSettings,
): void {
  const { error = thrown, kind: told } = (isServer ? failures.get(span) : undefined) ?? {};
  const isEnd = errorType === 'cancelled' || errorType === 'timeout';
  const kind = isEnd ? errorType : (told ?? (isServer && error !== undefined ? findKind(error) : undefined));
  if (kind !== undefined) span.setAttribute(ATTR_ERROR_KIND, kind);
  if (isServer && error !== undefined) span.addEvent('exception', toAttributes(error, settings));
}

const MAX_CAUSES = 4;
/** Classes of errors that the language throws for a mistake in the program. */
const BUGS = new Set(['TypeError', 'ReferenceError', 'RangeError', 'AssertionError']);
/** Codes of Node (nodejs.org/api/errors.html) and undici (docs/api/Errors.md) for a peer that does not answer in time. */
const TIMEOUT = /^(?:E(?:SOCKET)?TIMEDOUT|UND_ERR_\w+_TIMEOUT)$/;
/** Calls of the system in which a network fails. */
const NETWORK = new Set(['connect', 'getaddrinfo', 'read', 'write', 'queryA', 'queryAaaa']);

function findKind(error: unknown): ErrorKind | undefined {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && isObject(at); depth++, at = at.cause) {
    const name = errorClass(at);
    const code = stringAt(at, 'code') ?? '';
    const status =
      numberAt(at, 'status') ?? numberAt(at, 'statusCode') ?? numberAt(at.$metadata, 'httpStatusCode');
    if (name === 'APIUserAbortError' || stringAt(at, 'name') === 'AbortError') return 'cancelled';
    if (TIMEOUT.test(code) || /Timeout/.test(name) || stringAt(at, 'name') === 'TimeoutError')
      return 'timeout';
    const isNetwork = NETWORK.has(stringAt(at, 'syscall') ?? '') || code.startsWith('UND_ERR_');
    if (isNetwork || (status !== undefined && status >= 400 && status < 600)) return 'upstream';
  }
  const { code, cause } = readObject(error);
  return BUGS.has(errorClass(error)) && code === undefined && cause === undefined ? 'bug' : undefined;
}

function toAttributes(error: unknown, { captureContent, contentLimitChars }: McpSettings): Attributes {
  const message = isObject(error) ? stringAt(error, 'message') : String(error);
  const stack = findFrames(stringAt(error, 'stack'), message ?? '');
  return {
    'exception.type': errorClass(error, captureContent),
    ...(captureContent && message !== undefined
      ? { 'exception.message': message.slice(0, contentLimitChars) }
      : {}),
    ...(stack === undefined ? {} : { 'exception.stacktrace': stack }),
  };
}

const MAX_FRAMES = 30;
const MAX_FRAME_CHARS = 250;

/** The frames of a stack without the message before them, which is content. */
function findFrames(stack: string | undefined, message: string): string | undefined {
  const at = stack?.indexOf(message) ?? -1;
  if (stack === undefined || at < 0) return undefined;
  const lines = stack
    .slice(at + message.length, at + message.length + 2 * MAX_FRAMES * MAX_FRAME_CHARS)
    .split('\n');
  const frames = lines.filter((line) => line.startsWith('    at ') && line.length <= MAX_FRAME_CHARS);
  return frames.length === 0 ? undefined : frames.slice(0, MAX_FRAMES).join('\n');
}
