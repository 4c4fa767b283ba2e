import { isObject, type JsonObject, readList, readObject, toText } from '../../json/index.ts';
import { readUsageObject } from '../../signals/index.ts';
import { type Answer, type AssistantPart, checkArguments, readFinishReason } from '../contract/index.ts';
import { readAnthropicError } from './error.ts';

/** In semconv words. */
export const ANTHROPIC_NAME = 'anthropic';

/** Reads a `message`, also as Bedrock and Vertex AI serve it. */
export function readMessage(whole: unknown): Answer {
  const message = readObject(whole);
  const blocks = readList(message.content).filter(isObject);
  const reason = toText(message.stop_reason);
  const finishReason = readFinishReason(reason);
  return {
    provider: ANTHROPIC_NAME,
    id: toText(message.id),
    model: toText(message.model),
    finishReasons: reason === undefined ? [] : [reason],
    usage: readUsageObject(message.usage, { isExclusive: true }),
    serviceTier: toText(readObject(message.usage).service_tier),
    // A `server_tool_use` is run by Anthropic.
    toolCallCount: blocks.filter(({ type }) => type === 'tool_use').length,
    error: isObject(message.error) ? readAnthropicError(message) : undefined,
    choices: () =>
      blocks.length === 0 && reason === undefined
        ? []
        : [{ parts: blocks.map(readPart), finishReason, rawFinishReason: reason }],
  };
}

function readPart(block: JsonObject, index: number): AssistantPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: toText(block.text) ?? '' };
    case 'thinking':
      return { type: 'reasoning', text: toText(block.thinking) ?? '', provider: ANTHROPIC_NAME, raw: block };
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', provider: ANTHROPIC_NAME, raw: block };
    case 'tool_use':
      return {
        type: 'tool_call',
        id: toText(block.id) || `call_${index}`,
        name: toText(block.name) ?? '',
        ...checkArguments(block.input),
      };
    default:
      return { type: 'opaque', provider: ANTHROPIC_NAME, raw: block };
  }
}
