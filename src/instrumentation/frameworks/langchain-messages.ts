/** LangChain's messages and answers in our words. */
import { type Message, type MessagePart, parseMessages } from '../../interaction/index.ts';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../json/index.ts';
import { readServiceTier, readUsageObject } from '../../signals/index.ts';
import type { FrameworkAnswer } from './run.ts';

const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant', function: 'tool' };

/** The input of a model: lists of messages, or prompts. Of several, the first: each has a run of its own. */
export function readMessages(input: unknown): readonly Message[] {
  const [first] = Array.isArray(input) ? (input as readonly unknown[]) : [];
  if (typeof first === 'string') return parseMessages(first);
  return Array.isArray(first) ? parseMessages(first.map(plainMessage)) : [];
}

function plainMessage(message: unknown): unknown {
  if (!isObject(message)) return message;
  const type = readType(message);
  const calls = listAt(message, 'tool_calls').map((call) => ({
    id: stringAt(call, 'id'),
    type: 'function',
    function: { name: stringAt(call, 'name'), arguments: isObject(call) ? call.args : undefined },
  }));
  return {
    role: ROLES[type] ?? type,
    content: message.content,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(typeof message.tool_call_id === 'string' ? { tool_call_id: message.tool_call_id } : {}),
  };
}

function readType(message: JsonObject): string {
  const { getType, _getType } = message as { getType?: () => unknown; _getType?: () => unknown };
  const type = typeof getType === 'function' ? getType.call(message) : _getType?.call(message);
  return typeof type === 'string' ? type : (stringAt(message, 'role') ?? 'user');
}

/** What `handleLLMEnd` is given. */
export function readChainAnswer(output: unknown): FrameworkAnswer {
  const [first] = listAt(output, 'generations');
  const generation: unknown = Array.isArray(first) ? first[0] : undefined;
  const said = objectAt(generation, 'message');
  const about = objectAt(said, 'response_metadata');
  const info = objectAt(generation, 'generationInfo');
  const finish =
    stringAt(about, 'finish_reason') ?? stringAt(about, 'stop_reason') ?? stringAt(info, 'finish_reason');
  const text = stringAt(generation, 'text');
  return {
    id: stringAt(about, 'id') ?? stringAt(said, 'id'),
    model: stringAt(about, 'model_name') ?? stringAt(about, 'model'),
    finishReasons: finish === undefined ? [] : [finish],
    // `tokenUsage` is its older form.
    usage: readUsageObject(
      objectAt(said, 'usage_metadata') ?? objectAt(objectAt(output, 'llmOutput'), 'tokenUsage'),
    ),
    serviceTier: readServiceTier(about) ?? readServiceTier(objectAt(about, 'usage')),
    message: { role: 'assistant', parts: [...textPart(text), ...listAt(said, 'tool_calls').map(callPart)] },
  };
}

const textPart = (text: string | undefined): MessagePart[] =>
  text === undefined || text === '' ? [] : [{ type: 'text', content: text }];

function callPart(call: unknown): MessagePart {
  return {
    type: 'tool_call',
    id: stringAt(call, 'id'),
    name: stringAt(call, 'name'),
    arguments: isObject(call) ? call.args : undefined,
  };
}
