import type { JsonObject } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import type { ToolCall } from '../answer.ts';

/** What a provider's result object says. A field is absent where the object does not tell. */
export interface ProviderResponse {
  /** In the words of the semantic conventions; absent for forms that several providers share. */
  readonly provider?: string | undefined;
  /** Text of the first choice, without reasoning. */
  readonly answer?: string | undefined;
  readonly model?: string | undefined;
  readonly responseId?: string | undefined;
  /** One per choice, in the provider's own words. */
  readonly finishReasons?: readonly string[] | undefined;
  /** In the sense of the semantic conventions, whatever the provider counts. */
  readonly usage?: TokenUsage | undefined;
  /** Tier that served the call, in the provider's words. */
  readonly serviceTier?: string | undefined;
  /** Cost the provider reported, in US dollars. */
  readonly costUsd?: number | undefined;
  readonly toolCalls: readonly ToolCall[];
}

/** Recognises and reads the result objects of one API. */
export interface ResponseReader {
  matches(value: JsonObject): boolean;
  read(value: JsonObject): ProviderResponse;
}
