import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ObservatoryError } from '../../base/index.ts';
import type { ConnectOptions } from './types.ts';

/**
 * Finds a provider's key: the option, then the environment, then a `.env` file in the working directory.
 *
 * @param variables names to look for, the first one found wins.
 * @throws ObservatoryError `API_KEY_MISSING` when there is none; the message names where it was looked for.
 */
export function resolveApiKey(
  provider: string,
  variables: readonly string[],
  options: ConnectOptions,
): string {
  const key = findApiKey(variables, options);
  if (key !== undefined) return key;
  throw new ObservatoryError(
    'API_KEY_MISSING',
    `No API key for ${provider}: give \`apiKey\`, set ${variables.join(' or ')}, or write it to a .env file`,
  );
}

/** As {@link resolveApiKey}, undefined where there is none. */
export function findApiKey(variables: readonly string[], options: ConnectOptions): string | undefined {
  if (options.apiKey !== undefined && options.apiKey.trim() !== '') return options.apiKey.trim();
  return pickFirst(options.env ?? process.env, variables) ?? pickFirst(readDotenv(), variables);
}

function pickFirst(
  env: Readonly<Record<string, string | undefined>>,
  variables: readonly string[],
): string | undefined {
  for (const name of variables) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}

function readDotenv(): Readonly<Record<string, string | undefined>> {
  try {
    return parseEnv(readFileSync('.env', 'utf8')) as Record<string, string>;
  } catch {
    // No such file, or not ours to read: the caller says that no key was found.
    return {};
  }
}

/** Host of a base URL, for telemetry; nothing for a text that is no URL. */
export function findHost(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return undefined;
  return new URL(baseUrl).hostname;
}
