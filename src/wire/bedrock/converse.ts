import { isObject, type JsonObject, objectAt, readList, readObject, toText } from '../../json/index.ts';
import { readServiceTier, readUsageObject, type TokenUsage } from '../../signals/index.ts';
import { type Answer, type AssistantPart, checkArguments, readFinishReason } from '../contract/index.ts';

/** In semconv words. */
export const BEDROCK_NAME = 'aws.bedrock';

/** Whether a value is an answer of Converse, or of a Nova model under `InvokeModel`, which has the same form. */
export function isConverse(value: JsonObject): boolean {
  return Array.isArray(objectAt(objectAt(value, 'output'), 'message')?.content) && 'stopReason' in value;
}

/** Reads the output of `Converse`. It names neither the model nor the answer. */
export function readConverse(whole: unknown): Answer {
  const value = readObject(whole);
  const blocks = readList(objectAt(readObject(value.output), 'message')?.content).filter(isObject);
  const reason = toText(value.stopReason);
  const finishReason = readFinishReason(reason);
  return {
    provider: BEDROCK_NAME,
    finishReasons: reason === undefined ? [] : [reason],
    usage: withLatency(
      readUsageObject(value.usage, { isOwnTotal: true }),
      readObject(value.performanceConfig).latency,
    ),
    serviceTier: readServiceTier(value),
    // A `server_tool_use` is run by Bedrock.
    toolCallCount: blocks.filter(({ toolUse }) => isObject(toolUse) && toolUse.type === undefined).length,
    choices: () =>
      blocks.length === 0 && reason === undefined
        ? []
        : [{ parts: blocks.map(readBlock), finishReason, rawFinishReason: reason }],
  };
}

function readBlock(block: JsonObject, index: number): AssistantPart {
  const { text = citedText(block.citationsContent), toolUse, reasoningContent } = block;
  if (typeof text === 'string') return { type: 'text', text };
  if (isObject(toolUse) && toolUse.type === undefined) {
    return {
      type: 'tool_call',
      id: toText(toolUse.toolUseId) || `call_${index}`,
      name: toText(toolUse.name) ?? '',
      ...checkArguments(toolUse.input),
    };
  }
  if (isObject(reasoningContent)) {
    const reasoning = toText(readObject(reasoningContent.reasoningText).text) ?? '';
    return { type: 'reasoning', text: reasoning, provider: BEDROCK_NAME, raw: block };
  }
  return { type: 'opaque', provider: BEDROCK_NAME, raw: block };
}

/** Text with its sources: `{content: [{text}], citations}`. */
function citedText(cited: unknown): string | undefined {
  const content = readList(readObject(cited).content);
  return content.length === 0
    ? undefined
    : content.map((part) => toText(readObject(part).text) ?? '').join('');
}

/** Latency-optimized inference has prices of its own. */
export function withLatency(usage: TokenUsage | undefined, latency: unknown): TokenUsage | undefined {
  if (usage === undefined || latency !== 'optimized') return usage;
  return { ...usage, modes: [...(usage.modes ?? []), 'latency optimized'] };
}
