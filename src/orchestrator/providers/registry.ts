import {
  checkKinds,
  checkValue,
  kinds,
  ObservatoryError,
  type OptionKinds,
  secret,
} from '../../base/index.ts';
import { PROVIDERS } from '../../wire/index.ts';
import type { Provider, ProviderFactory, ProviderOptions } from './provider.ts';
import { connectProvider } from './wire-provider.ts';

const factories = new Map<string, ProviderFactory>(
  PROVIDERS.map((wire) => [wire.key, (options) => connectProvider(wire, options)]),
);

/**
 * Makes a provider known by name, or replaces the one known by it.
 *
 * @returns a function that restores what was known before.
 */
export function registerProvider(name: string, factory: ProviderFactory): () => void {
  if (name.trim() === '') {
    throw new ObservatoryError('INVALID_OPTION', 'Expected a provider name, got an empty one');
  }
  const before = factories.get(name);
  factories.set(name, factory);
  return () => {
    if (before === undefined) factories.delete(name);
    else factories.set(name, before);
  };
}

/** Names `createProvider` takes. */
function providerNames(): string[] {
  return [...factories.keys()];
}

/** Others may be for a provider of the application. */
const OPTIONS: OptionKinds<ProviderOptions> = {
  model: kinds.string,
  retry: kinds.object,
  idleTimeoutMs: kinds.number,
  wait: kinds.function,
  apiKey: secret(kinds.string),
  baseUrl: kinds.string,
  api: kinds.string,
  fetch: kinds.function,
  env: kinds.object,
};

/**
 * Makes a provider by name.
 *
 * @throws ObservatoryError `INVALID_OPTION` for an unknown name, `API_KEY_MISSING`, `MISSING_PEER`.
 */
export async function createProvider(name: string, options: ProviderOptions = {}): Promise<Provider> {
  checkValue('the name of createProvider()', name, kinds.string);
  checkKinds(options, OPTIONS, 'createProvider()');
  const factory = factories.get(name);
  if (factory === undefined) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Unknown provider ${JSON.stringify(name)}; known are ${providerNames().join(', ')} (see registerProvider)`,
    );
  }
  return await factory(options);
}
