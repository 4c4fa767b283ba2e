import { isObject, objectOf } from '../../json/index.ts';
import { apiOfPath, openAiChat } from '../../wire/index.ts';
import type { ExchangeUsage, StreamEvent, WireResponse } from '../file/index.ts';

/** Tokens of an answer as the provider reports them, whole or in the events of a stream. */
export function usageOf(path: string, response: WireResponse): ExchangeUsage | null {
  const documents = response.events === undefined ? [response.body] : response.events.map(dataOf);
  // Anthropic's first event has the input and the last one the output; others repeat a growing whole.
  const reported: Record<string, unknown> = {};
  for (const document of documents) Object.assign(reported, reportedIn(document));
  const usage = (apiOfPath(path) ?? openAiChat).readUsage(reported);
  if (usage === undefined) return null;
  const prompt = usage.inputTokens ?? null;
  const completion = usage.outputTokens ?? null;
  const total = prompt === null && completion === null ? null : (prompt ?? 0) + (completion ?? 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total };
}

/** The model that answered, as the answer says. */
export function modelOf(response: WireResponse): string | undefined {
  for (const document of response.events === undefined ? [response.body] : response.events.map(dataOf)) {
    if (!isObject(document)) continue;
    const inner = isObject(document.message)
      ? document.message
      : isObject(document.response)
        ? document.response
        : {};
    for (const model of [document.model, document.modelVersion, inner.model]) {
      if (typeof model === 'string' && model !== '') return model;
    }
  }
  return undefined;
}

function dataOf(event: StreamEvent): unknown {
  return 'data' in event ? event.data : undefined;
}

function reportedIn(document: unknown): Record<string, unknown> {
  if (!isObject(document)) return {};
  const inner = isObject(document.message)
    ? document.message
    : isObject(document.response)
      ? document.response
      : {};
  const found = document.usage ?? document.usageMetadata ?? inner.usage;
  return objectOf(found);
}
