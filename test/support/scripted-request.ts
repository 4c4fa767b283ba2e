import type { IncomingHttpHeaders } from 'node:http';

export type Api = 'openai' | 'anthropic' | 'gemini';
type Json = Record<string, unknown>;

export interface SeenResult {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly text: string;
  readonly isError: boolean | undefined;
}

/** A request in words common to the three APIs, so that one script serves all. */
export interface SeenRequest {
  readonly api: Api;
  readonly stream: boolean;
  readonly model: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
  readonly toolNames: readonly string[];
  /** Results after the last answer of the model, in order. */
  readonly lastResults: readonly SeenResult[];
  /** Everything said, as one text. */
  readonly text: string;
}

export function readRequest(url: string, headers: IncomingHttpHeaders, body: Json): SeenRequest {
  const api: Api = url.includes('/chat/completions')
    ? 'openai'
    : url.includes('/messages')
      ? 'anthropic'
      : 'gemini';
  const model =
    api === 'gemini' ? decodeURIComponent(/models\/([^:]+):/.exec(url)?.[1] ?? '') : String(body.model);
  return {
    api,
    stream: api === 'gemini' ? url.includes('streamGenerateContent') : body.stream === true,
    model,
    headers,
    body,
    toolNames: toolNames(api, body),
    lastResults: lastResults(api, body),
    text: JSON.stringify(body.messages ?? body.contents),
  };
}

function toolNames(api: Api, body: Json): string[] {
  const tools = (body.tools ?? []) as Json[];
  if (api === 'openai') return tools.map((tool) => String((tool.function as Json).name));
  if (api === 'anthropic') return tools.map((tool) => String(tool.name));
  return tools.flatMap((tool) =>
    ((tool.functionDeclarations ?? []) as Json[]).map((one) => String(one.name)),
  );
}

function lastResults(api: Api, body: Json): SeenResult[] {
  const messages = (body.messages ?? body.contents ?? []) as Json[];
  const answer = messages.findLastIndex(
    (message) => message.role === (api === 'gemini' ? 'model' : 'assistant'),
  );
  const tail = messages.slice(answer + 1);
  if (api === 'openai') {
    return tail
      .filter((message) => message.role === 'tool')
      .map((message) => ({
        id: String(message.tool_call_id),
        name: undefined,
        text: String(message.content),
        isError: undefined,
      }));
  }
  if (api === 'anthropic') {
    return tail.flatMap((message) =>
      (message.content as Json[])
        .filter((block) => block.type === 'tool_result')
        .map((block) => ({
          id: String(block.tool_use_id),
          name: undefined,
          text: ((block.content ?? []) as Json[]).map((part) => String(part.text ?? '')).join('\n'),
          isError: block.is_error === true,
        })),
    );
  }
  return tail.flatMap((content) =>
    (content.parts as Json[])
      .filter((part) => part.functionResponse !== undefined)
      .map((part) => {
        const response = part.functionResponse as Json;
        const value = response.response as Json;
        const said = value.error ?? value.output;
        return {
          id: response.id as string | undefined,
          name: String(response.name),
          text: typeof said === 'string' ? said : JSON.stringify(said),
          isError: value.error !== undefined,
        };
      }),
  );
}
