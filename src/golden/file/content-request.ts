/** Exchanges of which only the content is known: how their requests are compared, and how answers are written. */
import { type Message, parseRequest, readOfferedTools, toolResultText } from '../../interaction/index.ts';
import { isObject, type JsonObject, parseContainerOrKeep } from '../../json/index.ts';
import { apiOfPath, readFinishReason, type WireApi, type WrittenAnswer } from '../../wire/index.ts';
import { GoldenMismatchError } from './difference.ts';
import type { ProviderExchange, StreamEvent, WireRequest, WireResponse } from './format.ts';
import { askedModel, readAnswer, readExchange } from './read-exchange.ts';

/** What a request says, in the form of any provider; each part is a message, and those of the system come first. */
export interface RequestContent extends JsonObject {
  readonly model?: string;
  readonly messages: readonly Message[];
  /** In the order of their names. */
  readonly tools?: readonly JsonObject[];
}

/** The content of messages, without what depends on the provider or is in no trace: ids, media, reasoning. */
export function contentMessages(messages: readonly Message[]): Message[] {
  const parts = messages.flatMap(toParts);
  return [true, false].flatMap((isFirst) => parts.filter(({ role }) => (role === 'system') === isFirst));
}

function toParts({ role, parts }: Message): Message[] {
  return parts.flatMap((part): Message[] => {
    switch (part.type) {
      case 'text':
        if (part.content.trim() === '') return [];
        return [{ role: role === 'developer' ? 'system' : role, parts: [part] }];
      case 'tool_call': {
        const { type, name, arguments: given = {} } = part;
        return [{ role: 'assistant', parts: [{ type, name, arguments: given }] }];
      }
      case 'tool_call_response':
        return [{ role: 'tool', parts: [{ type: part.type, response: readResult(part.response) }] }];
      default:
        return [];
    }
  });
}

/** The text of a result, which some programs send as JSON of the whole. */
function readResult(response: unknown): string {
  return toolResultText(parseContainerOrKeep(response));
}

/** The definitions of offered tools, in the form of any provider, without keywords that programs made up. */
export function contentTools(tools: unknown): JsonObject[] {
  return readOfferedTools(tools)
    .map(({ name, definition }) => ({
      name,
      description: definition?.description ?? '',
      parameters: withoutOwnKeywords(definition?.schema ?? {}),
    }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

function withoutOwnKeywords(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key.startsWith('x-') ? undefined : value)));
}

/** What requests are matched by, of a golden that holds their content; undefined for one that holds whole requests. */
export function contentMembers(exchanges: readonly ProviderExchange[]): ReadonlySet<string> | undefined {
  const bodies = exchanges.flatMap((one) => (one.content_only === true ? [one.request.body] : []));
  if (bodies.length === 0) return undefined;
  const hasSystem = bodies.some((body) =>
    contentMessages(parseRequest(body)).some(({ role }) => role === 'system'),
  );
  return new Set([...bodies.flatMap((body) => Object.keys(body ?? {})), ...(hasSystem ? ['system'] : [])]);
}

/** The sides of a replayed program that run for real. */
export interface LiveSides {
  readonly tools?: boolean;
  readonly model?: boolean;
}

/**
 * The content of a request as it is sent.
 * @param known names of the members that recorded requests have, `system` for messages of it; others are left out.
 * @param live what runs for real: tool results are left out, or what the model said.
 */
export function toContent(
  { path, body }: WireRequest,
  known: ReadonlySet<string>,
  live: LiveSides,
): RequestContent {
  const given = isObject(body) ? body : {};
  const model = askedModel(path, body);
  const messages = contentMessages(parseRequest(given)).filter(
    ({ role }) =>
      !(live.tools && role === 'tool') &&
      !(live.model && role === 'assistant') &&
      (role !== 'system' || known.has('system')),
  );
  return {
    ...(known.has('model') && model !== undefined ? { model } : {}),
    messages,
    ...(known.has('tools') ? { tools: contentTools(given.tools ?? given.toolConfig) } : {}),
  };
}

/**
 * A recorded answer as the API that a request goes to gives it, streamed or not.
 * @throws GoldenMismatchError for an API whose answers cannot be written
 */
export function answerTo({ path, body }: WireRequest, exchange: ProviderExchange): WireResponse {
  const { response, iteration } = exchange;
  if (response.error !== undefined || response.status >= 400) return response;
  const api = apiOfPath(path);
  if (api === undefined)
    throw new GoldenMismatchError(
      `A golden from a trace holds what a model said, which cannot be written as the API at ${path} would`,
    );
  const { text, calls, finishReason, usage, model } = readExchange(exchange);
  const id = readAnswer(exchange.request.path, response)?.id ?? `trace-${iteration}`;
  const answer = {
    id,
    model,
    text,
    calls: writtenCalls(calls),
    finishReason: oddFinish(finishReason),
    usage,
  };
  if ((isObject(body) && body.stream === true) || path.includes(':stream'))
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      events: api.writeStream(answer).map((event): StreamEvent => ({ raw: event.trimEnd() })),
    };
  return writeWhole(api, answer);
}

/** Why a model stopped; undefined for what follows from its answer, in the words of each provider. */
export function oddFinish(word: string | undefined): string | undefined {
  const reason = readFinishReason(word);
  return ['stop', 'tool_calls', 'other'].includes(reason) ? undefined : reason;
}

export function writtenCalls(
  calls: readonly {
    readonly id?: string | undefined;
    readonly name?: string | undefined;
    readonly arguments?: unknown;
  }[],
): WrittenAnswer['calls'] {
  return calls.map(({ id, name = '', arguments: given = {} }, at) => ({
    id: id ?? `call_${at}`,
    name,
    argumentsText: typeof given === 'string' ? given : JSON.stringify(given),
  }));
}

/** An answer as an API gives it that is not asked for a stream. */
export function writeWhole(api: WireApi, answer: WrittenAnswer): WireResponse {
  const stream = api.newStream();
  for (const event of api.writeStream(answer)) {
    const data = /^data: (\{.*)$/m.exec(event)?.[1];
    if (data !== undefined) stream.push(JSON.parse(data));
  }
  return { status: 200, headers: { 'content-type': 'application/json' }, body: stream.whole() };
}
