import { firstText, isObject, listOf, objectOf, parseOrKeep, textOf } from '../../json/index.ts';
import type { ToolCall } from '../answer.ts';
import { answerText } from '../messages.ts';
import { parseMessages } from '../parse-messages.ts';
import { readOpenAiUsage, readReportedCost } from './openai-usage.ts';
import type { ProviderResponse, ResponseReader } from './types.ts';

/**
 * OpenAI's Chat Completions, the older text completions and embeddings, as OpenAI, Azure, OpenRouter, Groq, DeepSeek,
 * vLLM, Ollama and many more answer them.
 */
export const openAiChat: ResponseReader = {
  matches: (value) => Array.isArray(value.choices) || value.object === 'list',
  read: (value): ProviderResponse => {
    const choices = listOf(value.choices).map(objectOf);
    const message = objectOf(choices[0]?.message);
    const model = textOf(value.model);
    const reasons = choices.map((choice) => textOf(choice.finish_reason)).filter((r) => r !== undefined);
    return {
      provider: providerOf(value.provider, model),
      answer: answerText(parseMessages(message, 'assistant')) ?? textOf(choices[0]?.text),
      model,
      responseId: textOf(value.id),
      finishReasons: reasons.length === 0 ? undefined : reasons,
      usage: readOpenAiUsage(value.usage),
      serviceTier: textOf(value.service_tier),
      costUsd: readReportedCost(value.usage),
      toolCalls: readToolCalls(message.tool_calls, message.function_call),
    };
  },
};

/** The form is shared, so only a sign of the provider's own names it. */
function providerOf(upstream: unknown, model: string | undefined): string | undefined {
  // OpenRouter names the provider it chose in a field no other has.
  if (typeof upstream === 'string') return 'openrouter';
  return model !== undefined && OPENAI_MODEL.test(model) ? 'openai' : undefined;
}

/** OpenAI's closed model families; `gpt-oss` is served by anyone. */
export const OPENAI_MODEL: RegExp = /^(?:gpt-(?!oss)|chatgpt-|o\d|ft:gpt-|text-embedding-|davinci|babbage)/;

function readToolCalls(calls: unknown, legacyCall: unknown): ToolCall[] {
  const all = isObject(legacyCall) ? [legacyCall] : listOf(calls);
  return all.filter(isObject).map((call) => {
    const target = objectOf(call.function ?? call.custom ?? call);
    return {
      id: textOf(call.id),
      name: textOf(target.name),
      arguments: parseOrKeep(firstText(target.arguments, target.input) ?? target.arguments),
    };
  });
}
