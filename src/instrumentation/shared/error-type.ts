import { isObject, numberAt, stringAt } from '../../json/index.ts';
import { firstCode } from '../../wire/index.ts';

/** Classes that say nothing by themselves. */
const UNTELLING = new Set(['Error', 'TypeError', 'Object', 'DOMException']);

/** What an error says of itself without its message, which may quote the prompt or a key. */
export interface ErrorFacts {
  readonly type: string;
  readonly status: number | undefined;
}

/**
 * `error.type` in the order semconv asks for: the provider's own code, else the canonical name of the exception; for
 * a bare `Error` or `TypeError`, such as a socket cut in mid-stream, the code of the system error that caused it.
 */
export function errorFacts(error: unknown, providerCode: string | undefined): ErrorFacts {
  const status = numberAt(error, 'status');
  if (providerCode !== undefined) return { type: providerCode, status };
  const name = isObject(error) ? classNameOf(error) : typeof error;
  const cause = isObject(error) ? error.cause : undefined;
  const type = UNTELLING.has(name)
    ? (firstCode(stringAt(error, 'code'), stringAt(cause, 'code'), stringAt(error, 'name')) ?? name)
    : name;
  return { type: firstCode(type) ?? '_OTHER', status };
}

/** An error may be any object, one without a class among them; zod's class is `$ZodError`. */
function classNameOf(error: object): string {
  const name = (error as { readonly constructor?: { readonly name?: unknown } }).constructor?.name;
  return typeof name === 'string' ? name.replace(/^[$_]+/, '') : '';
}
