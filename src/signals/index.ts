export { computeSignals, type SignalInput, type Signals } from './compute.ts';
export { resolveSignalConfig, type SignalConfig, type SignalOptions } from './config.ts';
export { estimateTokens } from './estimate-tokens.ts';
export {
  answerHash,
  normalizedPromptHash,
  normalizePrompt,
  promptHash,
  promptSizeChars,
} from './hashes.ts';
export { type CostSource, type Price, type PriceInput, priceUsage } from './price.ts';
export { type PriceOverride, type PriceOverrides, resolvePriceOverrides } from './price-overrides.ts';
export {
  hallucinationRisk,
  hallucinationRiskLevel,
  type RiskComponents,
  type RiskLevel,
  type RiskLevels,
  type RiskWeights,
} from './risk.ts';
export {
  groundingScore,
  LocalHeuristicVerifier,
  numericVarianceScore,
  selfConsistencyScore,
  toolClaimMismatch,
} from './scores.ts';
export type { TokenUsage } from './usage.ts';
export type { Verifier, VerifierInput, VerifierResult } from './verifier.ts';
