import { errorMessage, invalidOption, ObservatoryError } from '../base/index.ts';
import type { ResolvedOptions } from './options.ts';
import { assertPriced } from './price.ts';
import { isProvider, type ProviderSettings } from './provider-choice.ts';
import { createProvider, type Provider } from './providers/index.ts';
import type { Tape } from './tape.ts';
import { RunTelemetry } from './telemetry.ts';

/** A provider of a run, with the model it is asked for. */
interface Link {
  readonly provider: Provider;
  readonly model: string;
  readonly telemetry: RunTelemetry;
}

const MAX_CANDIDATES = 20;

/** The providers of a run: one at a time, the next when one fails. */
export class ProviderChain {
  /** Why candidates were left out at the start. */
  readonly leftOut: readonly string[];
  readonly #links: readonly [Link, ...Link[]];
  #at = 0;

  constructor(links: readonly [Link, ...Link[]], leftOut: readonly string[]) {
    this.#links = links;
    this.leftOut = leftOut;
  }

  get current(): Link {
    return this.#links[this.#at] ?? this.#links[0];
  }

  /** Goes on to the next provider. @returns false when there is none. */
  failOver(): boolean {
    if (this.#at + 1 >= this.#links.length) return false;
    this.#at += 1;
    return true;
  }
}

/**
 * Opens the providers of a run. In a list, one whose key or package is missing or whose factory throws is left out,
 * unless it is the only one.
 * @throws ObservatoryError `INVALID_OPTION`, `API_KEY_MISSING`, `MISSING_PEER`; what the only factory throws.
 */
export async function openProviders(options: ResolvedOptions, tape: Tape): Promise<ProviderChain> {
  const candidates = await listCandidates(options);
  if (tape.fetch !== undefined && typeof options.provider !== 'string') {
    throw new ObservatoryError(
      'INVALID_OPTION',
      'Runs are recorded and played back at the wire, so `provider` must be a name, got a provider object, list or function',
    );
  }
  const links: Link[] = [];
  const leftOut: string[] = [];
  let missing: unknown;
  for (const settings of candidates) {
    try {
      links.push(await open(settings, options, tape));
    } catch (error) {
      const known = ObservatoryError.isInstance(error);
      if (known && error.code !== 'API_KEY_MISSING' && error.code !== 'MISSING_PEER') throw error;
      missing ??= error;
      leftOut.push(known ? errorMessage(error) : `${settings.provider}: ${errorMessage(error)}`);
    }
  }
  const [first, ...rest] = links;
  if (first === undefined) throw missing;
  return new ProviderChain([first, ...rest], leftOut);
}

async function open(settings: ProviderSettings, options: ResolvedOptions, tape: Tape): Promise<Link> {
  const { apiKey, baseUrl, api, model } = settings;
  const { fetch, wait } = tape;
  const provider =
    typeof settings.provider === 'string'
      ? await createProvider(settings.provider, {
          apiKey,
          baseUrl,
          api,
          model,
          retry: options.retry,
          fetch,
          wait,
        })
      : settings.provider;
  const asked = model ?? provider.defaultModel;
  assertPriced(options, provider.name, asked);
  return { provider, model: asked, telemetry: new RunTelemetry(provider, asked) };
}

async function listCandidates(options: ResolvedOptions): Promise<readonly ProviderSettings[]> {
  const { provider: choice, systemPrompt, userPrompt, apiKey, baseUrl, api, model } = options;
  if (typeof choice === 'string' || isProvider(choice))
    return [{ provider: choice, apiKey, baseUrl, api, model }];
  for (const [name, value] of Object.entries({ apiKey, baseUrl, api, model })) {
    if (value !== undefined) {
      throw invalidOption(
        `\`${name}\``,
        'given with each provider of a list: { provider, model, apiKey, ... }',
        'one for all',
      );
    }
  }
  const chosen = typeof choice === 'function' ? await choice({ systemPrompt, userPrompt }) : choice;
  const list: readonly unknown[] = Array.isArray(chosen) ? chosen : [chosen];
  if (list.length === 0 || list.length > MAX_CANDIDATES) {
    throw invalidOption('`provider`', `1 to ${MAX_CANDIDATES} providers`, list.length);
  }
  return list.map((candidate): ProviderSettings => {
    if (typeof candidate === 'string' || isProvider(candidate)) return { provider: candidate };
    const settings = candidate as ProviderSettings | null | undefined;
    if (typeof settings?.provider === 'string' || isProvider(settings?.provider))
      return settings as ProviderSettings;
    throw invalidOption('each of `provider`', 'a name, a provider, or { provider, model, ... }', candidate);
  });
}
