import type { Provider } from './providers/index.ts';

/** A provider by name or object, with settings of its own. */
export interface ProviderSettings {
  readonly provider: string | Provider;
  /** @defaultValue the provider's default model */
  readonly model?: string | undefined;
  /** @defaultValue the provider's environment variable, then a `.env` file */
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly api?: string | undefined;
}

export type ProviderCandidate = string | Provider | ProviderSettings;

/** What a function that chooses providers is given. */
export interface ProviderTask {
  readonly systemPrompt: string;
  readonly userPrompt: string;
}

/** Chooses providers by the task; the first is used, the others when it fails. */
export type ProviderChooser = (
  task: ProviderTask,
) =>
  | ProviderCandidate
  | readonly ProviderCandidate[]
  | Promise<ProviderCandidate | readonly ProviderCandidate[]>;

export function isProvider(value: unknown): value is Provider {
  return typeof (value as Provider | null | undefined)?.createCompletion === 'function';
}
