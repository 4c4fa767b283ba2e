import {
  checkOptions,
  either,
  invalidOption,
  kinds,
  ObservatoryError,
  type OptionKinds,
  secret,
} from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import type { Planner } from '../policy/index.ts';
import {
  createProvider,
  type ModelMessage,
  type Provider,
  ProviderError,
  userText,
  visibleText,
} from './providers/index.ts';
import { RunTelemetry } from './telemetry.ts';

const DEFAULT_TIMEOUT_MS = 60_000;

export interface ModelPlannerOptions {
  /** `openai` (any OpenAI-compatible endpoint), `anthropic`, `gemini`, a registered name, or a provider. @defaultValue 'openai' */
  readonly provider?: string | Provider | undefined;
  /** @defaultValue the provider's default model */
  readonly model?: string | undefined;
  /** Base URL of the API, in the form the provider's SDK takes (for OpenAI with its `/v1`). Not for a provider that is given. */
  readonly baseUrl?: string | undefined;
  /** @defaultValue the provider's environment variable, then a `.env` file. Not for a provider that is given. */
  readonly apiKey?: string | undefined;
  /** Longest wait for an answer, in milliseconds. @defaultValue 60000 */
  readonly timeoutMs?: number | undefined;
  /** Not sent unless set: the newer reasoning models refuse it. */
  readonly temperature?: number | undefined;
  /** Most tokens an answer may have. @defaultValue the provider's own limit */
  readonly maxOutputTokens?: number | undefined;
  /** Fields merged into the request as they are, for instance `{ response_format: { type: 'json_object' } }`. */
  readonly extraBody?: JsonObject | undefined;
}

const OPTIONS: OptionKinds<ModelPlannerOptions> = {
  provider: either({ ...kinds.string, expected: 'the name of a provider' }, kinds.object),
  model: kinds.string,
  baseUrl: kinds.string,
  apiKey: secret(kinds.string),
  timeoutMs: kinds.number,
  temperature: kinds.number,
  maxOutputTokens: kinds.number,
  extraBody: kinds.object,
};

/**
 * A planner for `PolicyHost` over a model provider. It sees allowed tools as text and has none it could call itself;
 * each question is one request, without retries, in a `chat` span of its own.
 *
 * @throws ObservatoryError `INVALID_OPTION` for an unknown provider, `API_KEY_MISSING`, `MISSING_PEER`. Its `plan`
 * throws `PLANNER_FAILED` when the provider fails, does not answer in time, or answers without a text.
 */
export async function modelPlanner(options: ModelPlannerOptions = {}): Promise<Planner> {
  checkOptions(options, OPTIONS, 'modelPlanner()');
  const { timeoutMs = DEFAULT_TIMEOUT_MS, temperature, maxOutputTokens, extraBody } = options;
  if (!(timeoutMs > 0 && timeoutMs <= 2 ** 31 - 1)) {
    throw invalidOption('`timeoutMs`', 'a positive number of milliseconds', timeoutMs);
  }
  const provider = await findProvider(options);
  const model = options.model ?? provider.defaultModel;
  const telemetry = new RunTelemetry(provider, model);
  const failed = (how: string, cause?: unknown): ObservatoryError =>
    new ObservatoryError('PLANNER_FAILED', `The planner's model (${model}) ${how}`, { cause });
  return {
    async plan(messages) {
      const conversation = messages.map(
        ({ role, content }): ModelMessage =>
          role === 'system' ? { role, text: content } : userText(content),
      );
      // Not streamed: the answer is one short object, and not every compatible endpoint can stream.
      const request = { model, temperature, maxOutputTokens, extraBody, stream: false };
      let text: string;
      try {
        const { message } = await telemetry.chat(conversation, [], false, () =>
          provider.createCompletion(conversation, [], { ...request, signal: AbortSignal.timeout(timeoutMs) }),
        );
        text = visibleText(message.parts);
      } catch (cause) {
        throw failed(`failed with ${readKind(cause)}`, cause);
      }
      if (text.trim() === '') throw failed('answered without a text');
      return text;
    },
  };
}

/** What failed, without the provider's message, which may quote what was asked. */
function readKind(cause: unknown): string {
  if (cause instanceof ProviderError) return [cause.kind, cause.status].filter(Boolean).join(' ');
  return cause instanceof Error ? cause.name : 'an error';
}

async function findProvider({ provider = 'openai', apiKey, baseUrl, model }: ModelPlannerOptions) {
  if (typeof provider !== 'string') return provider;
  // One request per question: the control flow of a step has no hidden retries.
  return await createProvider(provider, { apiKey, baseUrl, model, retry: { maxAttempts: 1 } });
}
