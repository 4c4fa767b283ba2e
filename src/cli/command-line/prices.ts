import { readFile } from 'node:fs/promises';
import { camelKeys } from '../../base/index.ts';
import { type PriceOverrides, resolvePriceOverrides } from '../../signals/index.ts';
import { usageError } from './command.ts';

/**
 * The file of `--prices`: a JSON list of prices, with the keys of `PriceOverride` in snake case.
 * @throws ObservatoryError `INVALID_OPTION` for a file that cannot be read, or an entry that is not a price.
 */
export async function readPrices(path: string): Promise<PriceOverrides> {
  let entries: unknown;
  try {
    entries = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw usageError(`--prices: cannot read '${path}' as JSON: ${(cause as Error).message}`, cause);
  }
  // Entries are validated later; only the keys change here.
  const renamed = Array.isArray(entries) ? entries.map(withOptionNames) : entries;
  return resolvePriceOverrides(renamed as Parameters<typeof resolvePriceOverrides>[0]);
}

/** Keys in option style: `input_usd_per_million` is `inputUsdPerMillion`. */
function withOptionNames(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null ? camelKeys(entry) : entry;
}
