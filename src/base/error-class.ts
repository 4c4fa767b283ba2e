import { ObservatoryError } from './errors.ts';

/** Classes of the language, of Node, and of the libraries this package instruments or uses. */
const KNOWN: ReadonlySet<string> = new Set(
  `
    Error TypeError RangeError SyntaxError ReferenceError EvalError URIError AggregateError SuppressedError
    DOMException SystemError AssertionError AbortError TimeoutError NotSupportedError NetworkError
    OpenAIError AnthropicError APIError APIUserAbortError APIConnectionError APIConnectionTimeoutError APIStatusError
    BadRequestError AuthenticationError PermissionDeniedError NotFoundError ConflictError UnprocessableEntityError
    RateLimitError InternalServerError LengthFinishReasonError ContentFilterFinishReasonError ApiError ClientError
    ServerError HTTPError HttpError FetchError ResponseError
    McpError ProtocolError SdkError SdkHttpError StreamableHTTPError SseError UnauthorizedError OAuthError
    UrlElicitationRequiredError ZodError ZodRealError ValidationError
    UndiciError ConnectTimeoutError HeadersTimeoutError HeadersOverflowError BodyTimeoutError RequestAbortedError
    SocketError RequestRetryError ResponseExceededMaxSizeError SecureProxyConnectionError ClientDestroyedError
    ClientClosedError InformationalError RequestContentLengthMismatchError ResponseContentLengthMismatchError
    HTTPParserError InvalidArgumentError
    DatabaseError GraphRecursionError GraphInterrupt NodeInterrupt
  `
    .trim()
    .split(/\s+/),
);

const AI_SDK_NAME = /^AI_[A-Za-z]{1,60}$/;

/**
 * The class of an error for a span: the nearest one, up its chain of prototypes, that is known. Classes an application
 * names are left out, because a name can say what the error is about.
 *
 * @param isNamed takes the application's own classes too, for spans that hold content.
 * @returns 'Error' if none is known, `typeof` for what is no object.
 */
export function errorClass(error: unknown, isNamed = false): string {
  if (typeof error !== 'object' || error === null) return typeof error;
  const marked = findMarkedName(error);
  if (marked !== undefined) return marked;
  const isOwn = ObservatoryError.isInstance(error);
  for (let proto = Object.getPrototypeOf(error), depth = 0; proto !== null && depth < 16; depth += 1) {
    const name = findName(proto);
    if (name !== undefined && (isNamed || isOwn || KNOWN.has(name))) return name;
    proto = Object.getPrototypeOf(proto);
  }
  return 'Error';
}

/** Whether a name is that of a known class. */
export function isKnownErrorClass(name: unknown): name is string {
  return typeof name === 'string' && KNOWN.has(name);
}

/**
 * The name of an error of the AI SDK, which marks each of its classes with `Symbol.for('vercel.ai.error.NAME')`
 * (`AISDKError.hasMarker` of `@ai-sdk/provider`).
 */
function findMarkedName(error: object): string | undefined {
  const { name } = error as { readonly name?: unknown };
  if (typeof name !== 'string' || !AI_SDK_NAME.test(name)) return undefined;
  return Reflect.get(error, Symbol.for(`vercel.ai.error.${name}`)) === true ? name : undefined;
}

/** zod's class is `$ZodError`. */
function findName(proto: object): string | undefined {
  const name = (proto as { readonly constructor?: { readonly name?: unknown } }).constructor?.name;
  return typeof name === 'string' ? name.replace(/^[$_]+/, '').slice(0, 64) || undefined : undefined;
}
