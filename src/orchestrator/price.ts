import { ObservatoryError } from '../base/index.ts';
import { priceUsage } from '../signals/index.ts';
import type { PriceOf } from './budget.ts';
import type { ResolvedOptions } from './options.ts';

/** Prices a call by the package's price list; nothing for a model it does not know. */
export const listPrice: PriceOf = (provider, model, usage, serviceTier) =>
  priceUsage({ provider, model, usage, serviceTier, at: new Date() }).costUsd;

/**
 * A cost limit on a model without a price could not be kept.
 * @throws ObservatoryError `INVALID_OPTION` before anything is started.
 */
export function assertPriced(options: ResolvedOptions, provider: string, model: string): void {
  if (options.maxCostUsd === undefined) return;
  const priceOf = options.priceOf ?? listPrice;
  if (priceOf(provider, model, { inputTokens: 1_000, outputTokens: 1_000 }) !== undefined) return;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `\`maxCostUsd\` cannot be kept: there is no price for ${provider} ${model}. Give \`priceOf\``,
  );
}
