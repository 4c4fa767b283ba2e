/**
 * Computes figures of one call: prompt hashes, token counts, cost, composite risk and context tax. It may import `base`
 * and `json`.
 */
export { computeSignals, type SignalInput, type TextIdentities } from './compute.ts';
export { reportVerifierError, resolveSignalConfig, type SignalConfig, type SignalOptions } from './config.ts';
export {
  type CallPrice,
  correctTax,
  costOfFirst,
  estimateTax,
  learnTax,
  type PlainRequest,
  type TaxEstimate,
  type TaxModel,
  TOKENIZED_MODEL,
  toTaxModel,
} from './context-tax.ts';
export type { RequestUsage, TokenUsage } from './cost.ts';
export { type DefinitionForm, definitionText, type ToolDefinitionView } from './definition-text.ts';
export { canCountTokens, estimateTokens, prepareToCountTokens } from './estimate-tokens.ts';
export {
  areLong,
  type BoundedIdentity,
  boundedIdentity,
  identitySteps,
  STEP_CHARS,
  sampledShare,
} from './large-texts.ts';
export { CACHE_UNTOLD, PLACE_UNTOLD, readServiceTier } from './modes.ts';
export { type CostSource, type PriceInput, priceUsage } from './price.ts';
export { type PriceOverride, type PriceOverrides, resolvePriceOverrides } from './price-overrides.ts';
export {
  costByWords,
  isInOtherCurrency,
  type ListedCost,
  namesOtherCurrency,
  type ReportedCost,
  readAmount,
  readCost,
  readReportedCost,
  SPAN_COSTS,
  saysOtherCurrency,
} from './reported-cost.ts';
export type { RiskLevel, RiskLevels, RiskWeights } from './risk.ts';
export {
  answerHash,
  normalizedPromptHash,
  normalizePrompt,
  numericVarianceScore,
  selfConsistencyScore,
} from './single.ts';
export { readUsageObject, UsageReader } from './usage.ts';
export { MAX_MEMBERS, placeByWords, readCount, SPAN_PLACES, type UsagePlace } from './usage-place.ts';
export { readUsageUnits, writeUsageUnits } from './usage-units.ts';
export type { Verifier, VerifierInput, VerifierResult } from './verifier.ts';
