import type { Attributes } from '@opentelemetry/api';
import { type JsonObject, listAt, numberAt, objectAt, stringAt, stringsAt } from '../../json/index.ts';
import * as own from '../shared/semconv.ts';

/** `gen_ai.output.type` by the request's format; a schema is JSON too. */
const OUTPUT_TYPE: Readonly<Record<string, string>> = {
  text: 'text',
  json_object: 'json',
  json_schema: 'json',
};

/** Request attributes that the body of Chat, Responses, Completions and Embeddings share. */
export function requestAttributes(
  body: JsonObject,
  apiType: 'chat_completions' | 'responses' | undefined,
): Attributes {
  const attributes: Attributes = {};
  const set = (name: string, value: Attributes[string] | undefined): void => {
    if (value !== undefined) attributes[name] = value;
  };
  set(own.ATTR_OPENAI_API_TYPE, apiType);
  set(own.ATTR_GEN_AI_REQUEST_TEMPERATURE, numberAt(body, 'temperature'));
  set(own.ATTR_GEN_AI_REQUEST_TOP_P, numberAt(body, 'top_p'));
  set(own.ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY, numberAt(body, 'frequency_penalty'));
  set(own.ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY, numberAt(body, 'presence_penalty'));
  set(own.ATTR_GEN_AI_REQUEST_SEED, numberAt(body, 'seed'));
  set(own.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES, stringsAt(body, 'stop'));
  set(
    own.ATTR_GEN_AI_REQUEST_MAX_TOKENS,
    numberAt(body, 'max_completion_tokens') ??
      numberAt(body, 'max_tokens') ??
      numberAt(body, 'max_output_tokens'),
  );
  const choices = numberAt(body, 'n');
  if (choices !== 1) set(own.ATTR_GEN_AI_REQUEST_CHOICE_COUNT, choices);
  if (body.stream === true) set(own.ATTR_GEN_AI_REQUEST_STREAM, true);
  const tier = stringAt(body, 'service_tier');
  if (tier !== 'auto') set(own.ATTR_OPENAI_REQUEST_SERVICE_TIER, tier);
  const format = objectAt(body, 'response_format') ?? objectAt(objectAt(body, 'text'), 'format');
  const speaks = listAt(body, 'modalities').includes('audio');
  set(
    own.ATTR_GEN_AI_OUTPUT_TYPE,
    OUTPUT_TYPE[stringAt(format, 'type') ?? ''] ?? (speaks ? 'speech' : undefined),
  );
  return attributes;
}
