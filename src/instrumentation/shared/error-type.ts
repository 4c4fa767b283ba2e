import { errorClass, isKnownErrorClass } from '../../base/index.ts';
import { isObject, numberAt, stringAt } from '../../json/index.ts';
import { firstCode } from '../../wire/index.ts';

/** Classes that say nothing by themselves. */
const UNTELLING = new Set(['Error', 'TypeError', 'Object', 'DOMException']);

/** What an error says of itself without its message, which may quote the prompt or a key. */
export interface ErrorFacts {
  readonly type: string;
  readonly status: number | undefined;
}

/** Codes of Node and of libraries; other texts may quote what the error is about. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]{2,63}$/;

/**
 * `error.type` in the order semconv asks for: the provider's own code, else the canonical name of the exception; for
 * a bare `Error` or `TypeError`, such as a socket cut in mid-stream, the code of the system error that caused it.
 *
 * @param isNamed takes classes and codes that the application chose too, for spans that hold content.
 */
export function errorFacts(error: unknown, providerCode: string | undefined, isNamed = false): ErrorFacts {
  // An error of the AWS SDK has it among the facts of the request.
  const status =
    numberAt(error, 'status') ?? numberAt(isObject(error) ? error.$metadata : undefined, 'httpStatusCode');
  if (providerCode !== undefined) return { type: providerCode, status };
  const name = errorClass(error, isNamed);
  if (!UNTELLING.has(name)) return { type: firstCode(name) ?? '_OTHER', status };
  const cause = isObject(error) ? error.cause : undefined;
  const codes = [stringAt(error, 'code'), stringAt(cause, 'code')].filter(
    (code) => isNamed || (code !== undefined && SYSTEM_CODE.test(code)),
  );
  const own = stringAt(error, 'name');
  const type = firstCode(...codes, isNamed || isKnownErrorClass(own) ? own : undefined, name);
  return { type: type ?? '_OTHER', status };
}
