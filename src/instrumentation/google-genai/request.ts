import type { Attributes } from '@opentelemetry/api';
import { type JsonObject, numberAt, objectAt, stringAt, stringsAt } from '../../json/index.ts';
import * as own from '../shared/semconv.ts';

/** Attributes of a `generateContent` request. */
export function requestAttributes(params: JsonObject, stream: boolean): Attributes {
  const config = objectAt(params, 'config');
  const attributes: Attributes = {};
  const set = (name: string, value: Attributes[string] | undefined): void => {
    if (value !== undefined) attributes[name] = value;
  };
  set(own.ATTR_GEN_AI_REQUEST_TEMPERATURE, numberAt(config, 'temperature'));
  set(own.ATTR_GEN_AI_REQUEST_TOP_P, numberAt(config, 'topP'));
  set(own.ATTR_GEN_AI_REQUEST_TOP_K, numberAt(config, 'topK'));
  set(own.ATTR_GEN_AI_REQUEST_MAX_TOKENS, numberAt(config, 'maxOutputTokens'));
  set(own.ATTR_GEN_AI_REQUEST_SEED, numberAt(config, 'seed'));
  set(own.ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY, numberAt(config, 'frequencyPenalty'));
  set(own.ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY, numberAt(config, 'presencePenalty'));
  set(own.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES, stringsAt(config, 'stopSequences'));
  set(own.ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT, numberAt(config, 'outputDimensionality'));
  const choices = numberAt(config, 'candidateCount');
  if (choices !== 1) set(own.ATTR_GEN_AI_REQUEST_CHOICE_COUNT, choices);
  if (stream) set(own.ATTR_GEN_AI_REQUEST_STREAM, true);
  set(own.ATTR_GEN_AI_OUTPUT_TYPE, outputType(config));
  return attributes;
}

function outputType(config: JsonObject | undefined): string | undefined {
  const mimeType = stringAt(config, 'responseMimeType');
  if (mimeType === 'application/json') return 'json';
  const modality = stringsAt(config, 'responseModalities')?.[0]?.toLowerCase();
  if (modality === 'audio') return 'speech';
  if (modality === 'image' || modality === 'text') return modality;
  return mimeType?.startsWith('text/') === true ? 'text' : undefined;
}

/** `gemini-2.5-flash` of `models/gemini-2.5-flash` and of `projects/p/locations/l/publishers/google/models/...`. */
export function modelName(params: JsonObject): string | undefined {
  const model = stringAt(params, 'model');
  if (model === undefined) return undefined;
  if (model.startsWith('models/')) return model.slice('models/'.length);
  const at = model.lastIndexOf('/models/');
  return at === -1 ? model : model.slice(at + '/models/'.length);
}
