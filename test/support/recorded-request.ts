/** Reads a recorded request as the neutral conversation it came from, and brings requests to a canonical form. */
import type {
  CompletionOptions,
  ModelMessage,
  ModelTool,
  ToolChoice,
} from '../../src/orchestrator/providers/index.ts';
import type { Api } from './scripted-request.ts';

type Json = Record<string, unknown>;

export interface NeutralRequest {
  readonly messages: ModelMessage[];
  readonly tools: ModelTool[];
  readonly options: CompletionOptions;
}

/** A request that holds more than plain tool calling: server tools, cache marks, documents, audio. */
export class NotPlain extends Error {}

export function toNeutral(api: Api, body: Json): NeutralRequest {
  if (api === 'openai') return fromOpenAI(body);
  if (api === 'anthropic') return fromAnthropic(body);
  return fromGemini(body);
}

function rest(body: Json, ...known: string[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !known.includes(key)));
}

function textParts(content: unknown) {
  if (typeof content === 'string') return [{ type: 'text' as const, text: content }];
  return (content as Json[]).map((part) => {
    if (part.type !== 'text' || 'cache_control' in part) throw new NotPlain(`content ${String(part.type)}`);
    return { type: 'text' as const, text: String(part.text) };
  });
}

function fromOpenAI(body: Json): NeutralRequest {
  const names = new Map<string, string>();
  const messages: ModelMessage[] = [];
  for (const message of body.messages as Json[]) {
    if (message.role === 'system' || message.role === 'developer') {
      messages.push({
        role: 'system',
        text: textParts(message.content)
          .map((part) => part.text)
          .join(''),
      });
    } else if (message.role === 'user') {
      messages.push({ role: 'user', parts: textParts(message.content) });
    } else if (message.role === 'assistant') {
      const calls = (message.tool_calls ?? []) as {
        id: string;
        function: { name: string; arguments: string };
      }[];
      for (const call of calls) names.set(call.id, call.function.name);
      messages.push({
        role: 'assistant',
        parts: [
          ...(message.content ? textParts(message.content) : []),
          ...calls.map((call) => ({
            type: 'tool_call' as const,
            id: call.id,
            name: call.function.name,
            arguments: JSON.parse(call.function.arguments || '{}') as Json,
          })),
        ],
      });
    } else if (message.role === 'tool') {
      const id = String(message.tool_call_id);
      messages.push({
        role: 'tool',
        parts: [
          {
            type: 'tool_result',
            id,
            name: names.get(id) ?? '',
            content: textParts(message.content),
            isError: false,
          },
        ],
      });
    } else throw new NotPlain(`role ${String(message.role)}`);
  }
  const tools = ((body.tools ?? []) as Json[]).map((tool): ModelTool => {
    if (tool.type !== 'function') throw new NotPlain(`tool ${String(tool.type)}`);
    const { name, description, parameters } = tool.function as Json;
    return { name: String(name), description: description as string, parameters: (parameters ?? {}) as Json };
  });
  if (typeof body.tool_choice === 'object') throw new NotPlain('tool_choice object');
  const extraBody = rest(body, 'model', 'messages', 'tools', 'tool_choice', 'stream', 'stream_options');
  return { messages, tools, options: { toolChoice: body.tool_choice as ToolChoice, extraBody } };
}

function fromAnthropic(body: Json): NeutralRequest {
  const names = new Map<string, string>();
  const messages: ModelMessage[] = [];
  if (body.system !== undefined) {
    for (const { text } of textParts(body.system)) messages.push({ role: 'system', text });
  }
  for (const message of body.messages as { role: string; content: string | Json[] }[]) {
    const blocks =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
    if (blocks.some((block) => 'cache_control' in block)) throw new NotPlain('cache_control');
    if (message.role === 'assistant') {
      messages.push({
        role: 'assistant',
        parts: blocks.map((block: Json) => {
          if (block.type === 'text') return { type: 'text', text: String(block.text) };
          if (block.type === 'tool_use') {
            names.set(String(block.id), String(block.name));
            return {
              type: 'tool_call',
              id: String(block.id),
              name: String(block.name),
              arguments: block.input as Json,
            };
          }
          const type = String(block.type).endsWith('thinking') ? 'reasoning' : 'opaque';
          return { type, text: '', provider: 'anthropic', raw: block };
        }),
      });
      continue;
    }
    const results = blocks.filter((block) => block.type === 'tool_result');
    if (results.length > 0) {
      messages.push({
        role: 'tool',
        parts: results.map((block: Json) => ({
          type: 'tool_result',
          id: String(block.tool_use_id),
          name: names.get(String(block.tool_use_id)) ?? '',
          content: textParts(block.content ?? []),
          isError: block.is_error === true,
        })),
      });
    }
    const others = blocks.filter((block) => block.type !== 'tool_result');
    if (others.length > 0) messages.push({ role: 'user', parts: textParts(others) });
  }
  const tools = ((body.tools ?? []) as Json[]).map((tool): ModelTool => {
    if (tool.input_schema === undefined) throw new NotPlain(`tool ${String(tool.type)}`);
    const extra = Object.keys(rest(tool, 'name', 'description', 'input_schema', 'type'));
    if (extra.length > 0) throw new NotPlain(`tool with ${extra.join()}`);
    return {
      name: String(tool.name),
      description: tool.description as string,
      parameters: tool.input_schema as Json,
    };
  });
  const choice = (body.tool_choice as { type?: string } | undefined)?.type;
  if (choice === 'tool') throw new NotPlain('tool_choice tool');
  const extraBody = rest(body, 'model', 'messages', 'system', 'tools', 'tool_choice', 'stream', 'max_tokens');
  return {
    messages,
    tools,
    options: {
      toolChoice: choice === 'any' ? 'required' : (choice as ToolChoice),
      maxOutputTokens: body.max_tokens as number,
      extraBody,
    },
  };
}

function fromGemini(body: Json): NeutralRequest {
  const messages: ModelMessage[] = [];
  for (const part of ((body.systemInstruction as Json | undefined)?.parts ?? []) as Json[]) {
    messages.push({ role: 'system', text: String(part.text) });
  }
  let ids: string[] = [];
  for (const content of body.contents as { role?: string; parts: Json[] }[]) {
    const responses = content.parts.filter((part) => part.functionResponse !== undefined);
    if (content.role === 'model') {
      ids = [];
      messages.push({
        role: 'assistant',
        parts: content.parts.map((part, index) => {
          const thoughtSignature = part.thoughtSignature as string | undefined;
          if (part.functionCall !== undefined) {
            const call = part.functionCall as { id?: string; name: string; args?: Json };
            const id = call.id ?? `assigned_${messages.length}_${index}`;
            ids.push(id);
            return {
              type: 'tool_call',
              id,
              ...(call.id === undefined ? { idAssigned: true } : {}),
              name: call.name,
              arguments: call.args ?? {},
              thoughtSignature,
            };
          }
          if (part.text === undefined || part.thought === true) {
            return { type: 'opaque', provider: 'gcp.gemini', raw: part };
          }
          return { type: 'text', text: String(part.text), thoughtSignature };
        }),
      });
    } else if (responses.length > 0) {
      if (responses.length < content.parts.length) throw new NotPlain('text beside function responses');
      messages.push({
        role: 'tool',
        parts: responses.map((part, index) => {
          const response = part.functionResponse as { id?: string; name: string; response: Json };
          const said = response.response.error ?? response.response.output ?? response.response;
          return {
            type: 'tool_result',
            id: ids[index] ?? '',
            name: response.name,
            content: [{ type: 'text', text: typeof said === 'string' ? said : JSON.stringify(said) }],
            ...(typeof said === 'string' ? {} : { structured: said }),
            isError: 'error' in response.response,
          };
        }),
      });
    } else {
      messages.push({
        role: 'user',
        parts: content.parts.map((part) => {
          if (part.text === undefined) throw new NotPlain(`part ${Object.keys(part).join()}`);
          return { type: 'text', text: String(part.text) };
        }),
      });
    }
  }
  const tools = ((body.tools ?? []) as Json[]).flatMap((tool) => {
    if (tool.functionDeclarations === undefined) throw new NotPlain(`tool ${Object.keys(tool).join()}`);
    return (tool.functionDeclarations as Json[]).map(
      (one): ModelTool => ({
        name: String(one.name),
        description: one.description as string,
        parameters: (one.parametersJsonSchema ?? one.parameters_json_schema ?? one.parameters ?? {}) as Json,
      }),
    );
  });
  const calling = (body.toolConfig as { functionCallingConfig?: Json } | undefined)?.functionCallingConfig;
  const more = Object.keys(calling ?? {}).filter((key) => key !== 'mode');
  if (more.length > 0) throw new NotPlain(`toolConfig with ${more.join()}`);
  const mode = calling?.mode as string | undefined;
  const choices: Readonly<Record<string, ToolChoice>> = { AUTO: 'auto', ANY: 'required', NONE: 'none' };
  const extraBody = rest(body, 'contents', 'systemInstruction', 'tools', 'toolConfig');
  return {
    messages,
    tools,
    options: { toolChoice: mode === undefined ? undefined : choices[mode], extraBody },
  };
}

/** Brings a body to one spelling of what the API documents as meaning the same. */
export function canonical(api: Api, body: Json): unknown {
  const copy = structuredClone(body);
  for (const key of ['stream', 'stream_options', 'model']) delete copy[key];
  if (api === 'openai') canonicalOpenAI(copy);
  else if (api === 'anthropic') canonicalAnthropic(copy);
  else canonicalGemini(copy);
  return copy;
}

function canonicalOpenAI(body: Json): void {
  if (body.tool_choice === 'auto') delete body.tool_choice;
  for (const message of body.messages as Json[]) {
    if (message.role === 'developer') message.role = 'system';
    if (Array.isArray(message.content))
      message.content = textParts(message.content)
        .map((part) => part.text)
        .join('\n');
    if (!message.content) delete message.content;
    for (const call of (message.tool_calls ?? []) as { function: Json }[]) {
      call.function.arguments = JSON.parse(String(call.function.arguments || '{}'));
    }
  }
  // `strict` asks for constrained sampling of the same schema.
  for (const tool of (body.tools ?? []) as { function: Json }[]) {
    delete tool.function.strict;
    tool.function.parameters ??= {};
  }
}

function canonicalAnthropic(body: Json): void {
  if (typeof body.system !== 'string' && body.system !== undefined) {
    body.system = textParts(body.system)
      .map((part) => part.text)
      .join('\n\n');
  }
  if ((body.tool_choice as Json | undefined)?.type === 'auto') delete body.tool_choice;
  for (const message of body.messages as Json[]) {
    if (typeof message.content === 'string') message.content = textParts(message.content);
    for (const block of message.content as Json[]) {
      if (block.type !== 'tool_result') continue;
      if (block.is_error === false) delete block.is_error;
      if (typeof block.content === 'string') block.content = textParts(block.content);
    }
  }
}

function canonicalGemini(body: Json): void {
  if (body.systemInstruction !== undefined) {
    delete (body.systemInstruction as Json).role;
  }
  const config = body.toolConfig as { functionCallingConfig?: Json } | undefined;
  if (
    config?.functionCallingConfig?.mode === 'AUTO' &&
    Object.keys(config.functionCallingConfig).length === 1
  ) {
    delete body.toolConfig;
  }
  if (Object.keys((body.generationConfig ?? {}) as Json).length === 0) delete body.generationConfig;
  for (const content of body.contents as { role?: string; parts: Json[] }[]) {
    content.role ??= 'user';
    for (const part of content.parts) {
      if (typeof part.thoughtSignature === 'string') {
        part.thoughtSignature = Buffer.from(part.thoughtSignature, 'base64url').toString('base64url');
      }
      const response = (part.functionResponse as { response?: Json } | undefined)?.response;
      if (response !== undefined && !('output' in response) && !('error' in response)) {
        (part.functionResponse as Json).response = { output: response };
      }
    }
  }
  // Declarations may be spread over tools or be in one; both schema fields say the same.
  const tools = (body.tools ?? []) as { functionDeclarations: Json[] }[];
  const declarations = tools.flatMap((tool) => tool.functionDeclarations);
  for (const one of declarations) {
    const schema = one.parametersJsonSchema ?? one.parameters_json_schema ?? one.parameters ?? {};
    for (const key of ['parametersJsonSchema', 'parameters_json_schema', 'parameters']) delete one[key];
    one.schema = schema;
  }
  if (declarations.length > 0) body.tools = declarations;
}
