import { readFile } from 'node:fs/promises';
import { ObservatoryError } from '../errors.ts';

/** One exchange with a model provider: what was asked and what came back, in the provider's own wire form. */
export interface ProviderExchange {
  readonly iteration: number;
  readonly request: Readonly<Record<string, unknown>>;
  readonly response: Readonly<Record<string, unknown>>;
  readonly token_usage: Readonly<Record<string, unknown>> | null;
}

/** A golden: a conversation kept as a file, in the words of its wire form. */
export interface Golden {
  readonly test_name: string;
  /** `recorded` came from a provider; `scripted` was written by a person and says so wherever it is shown. */
  readonly source: 'recorded' | 'scripted';
  readonly recorded_at: string | null;
  readonly input: Readonly<Record<string, unknown>>;
  readonly provider_responses: readonly ProviderExchange[];
}

/**
 * Reads a golden.
 * @throws ObservatoryError `INVALID_INPUT` when the file is missing, is no JSON or is no golden.
 */
export async function readGolden(file: string | URL): Promise<Golden> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new ObservatoryError('INVALID_INPUT', `Cannot read the golden ${String(file)}: ${String(cause)}`, {
      cause,
    });
  }
  const problem = problemOf(value);
  if (problem !== undefined) {
    throw new ObservatoryError('INVALID_INPUT', `${String(file)} is not a golden: ${problem}`);
  }
  return value as Golden;
}

function problemOf(value: unknown): string | undefined {
  if (!isObject(value)) return 'it is not a JSON object';
  if (typeof value.test_name !== 'string') return "'test_name' is missing";
  if (value.source !== 'recorded' && value.source !== 'scripted')
    return "'source' is neither recorded nor scripted";
  if (!isObject(value.input)) return "'input' is missing";
  if (!Array.isArray(value.provider_responses)) return "'provider_responses' is missing";
  const broken = value.provider_responses.findIndex(
    (entry: unknown) => !isObject(entry) || !isObject(entry.request) || !isObject(entry.response),
  );
  return broken === -1 ? undefined : `provider_responses[${broken}] has no request or no response`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
