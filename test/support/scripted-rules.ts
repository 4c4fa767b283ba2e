/** Requests that the real APIs refuse with a 400, according to their documentation and error messages. */
import type { SeenRequest } from './scripted-request.ts';

type Json = Record<string, unknown>;

export function violations(seen: SeenRequest): string[] {
  const found =
    seen.api === 'openai'
      ? openai(seen.body)
      : seen.api === 'anthropic'
        ? anthropic(seen.body)
        : gemini(seen);
  if (new Set(seen.toolNames).size < seen.toolNames.length) found.push('tool names must be unique');
  return found;
}

function openai(body: Json): string[] {
  const found: string[] = [];
  let open = new Set<string>();
  for (const message of body.messages as Json[]) {
    if (message.role === 'tool') {
      if (!open.delete(String(message.tool_call_id))) {
        found.push("messages with role 'tool' must be a response to a preceding message with 'tool_calls'");
      }
      continue;
    }
    if (open.size > 0) found.push(`tool_call_ids did not have response messages: ${[...open].join(', ')}`);
    open = new Set();
    if (message.role !== 'assistant') continue;
    const calls = (message.tool_calls ?? []) as Json[];
    if (calls.length === 0 && !message.content) found.push('assistant message needs content or tool_calls');
    for (const call of calls) {
      const id = String(call.id);
      if (id.length > 40) found.push(`string too long: ${id}`);
      open.add(id);
      const args = (call.function as Json).arguments;
      if (typeof args !== 'string') found.push('arguments must be a string');
    }
  }
  if (open.size > 0) found.push(`tool_call_ids did not have response messages: ${[...open].join(', ')}`);
  for (const tool of (body.tools ?? []) as Json[]) {
    const { name, parameters } = tool.function as { name: string; parameters: Json };
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) found.push(`tool name ${name} does not match`);
    if (parameters.type !== 'object') found.push(`schema of ${name} must be of type object`);
  }
  return found;
}

function anthropic(body: Json): string[] {
  const found: string[] = [];
  if (typeof body.max_tokens !== 'number') found.push('max_tokens: Field required');
  let open: string[] = [];
  const messages = body.messages as { role: string; content: Json[] | string }[];
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user' && message.role !== 'assistant')
      found.push(`unexpected role ${message.role}`);
    const blocks: Json[] =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
    if (blocks.length === 0) found.push(`messages.${index}: all messages must have non-empty content`);
    if (messages[index - 1]?.role === message.role) found.push('roles must alternate');
    const results = blocks
      .filter((block) => block.type === 'tool_result')
      .map((block) => String(block.tool_use_id));
    const firstOther = blocks.findIndex((block) => block.type !== 'tool_result');
    if (firstOther >= 0 && blocks.slice(firstOther).some((block) => block.type === 'tool_result')) {
      found.push('tool_result blocks must come first');
    }
    for (const id of open) {
      if (!results.includes(id)) {
        found.push(`\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}`);
      }
    }
    for (const id of results)
      if (!open.includes(id)) found.push(`unexpected tool_use_id in tool_result: ${id}`);
    open = [];
    for (const block of blocks) {
      if (block.type === 'text' && String(block.text).trim() === '')
        found.push('text content blocks must be non-empty');
      if (block.type === 'thinking' && typeof block.signature !== 'string')
        found.push('thinking.signature required');
      if (block.type !== 'tool_use') continue;
      open.push(String(block.id));
      if (!/^[a-zA-Z0-9_-]+$/.test(String(block.id)))
        found.push(`tool_use.id ${String(block.id)} does not match`);
      if (typeof block.input !== 'object' || block.input === null)
        found.push('tool_use.input must be an object');
    }
  }
  if (open.length > 0)
    found.push(`\`tool_use\` ids were found without \`tool_result\` blocks: ${open.join(', ')}`);
  for (const tool of (body.tools ?? []) as { name: string; input_schema: Json }[]) {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name)) found.push(`tool name ${tool.name} does not match`);
    const schema = tool.input_schema;
    if (schema.type !== 'object') found.push(`input_schema of ${tool.name} must be of type object`);
    if (schema.oneOf ?? schema.allOf ?? schema.anyOf)
      found.push('no oneOf, allOf, or anyOf at the top level');
    for (const key of Object.keys((schema.properties ?? {}) as Json)) {
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key)) found.push(`property key ${key} does not match`);
    }
  }
  return found;
}

function gemini(seen: SeenRequest): string[] {
  const found: string[] = [];
  const signs = /^gemini-[3-9]/.test(seen.model);
  let open: { id?: string; name: string }[] = [];
  for (const content of seen.body.contents as { role: string; parts: Json[] }[]) {
    const responses = content.parts
      .filter((part) => part.functionResponse !== undefined)
      .map((part) => part.functionResponse as { id?: string; name: string; response: unknown });
    if (open.length !== responses.length) {
      found.push('the number of function response parts must equal the number of function call parts');
    }
    for (const [index, call] of open.entries()) {
      const response = responses[index];
      if (response?.name !== call.name || response.id !== call.id) found.push(`no response for ${call.name}`);
      if (typeof response?.response !== 'object') found.push('response must be an object');
    }
    const calls = content.parts.filter((part) => part.functionCall !== undefined);
    if (signs && calls.length > 0 && calls[0]?.thoughtSignature === undefined) {
      found.push('Function call is missing a thought_signature');
    }
    open = calls.map((part) => part.functionCall as { id?: string; name: string });
  }
  if (open.length > 0) found.push('function calls without responses');
  for (const name of seen.toolNames) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name)) found.push(`tool name ${name} does not match`);
  }
  return found;
}
