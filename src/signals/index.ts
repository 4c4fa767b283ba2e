export type { TraceStep } from './claims/index.ts';
export { computeSignals, evidenceOf, type SignalInput, type TextIdentities } from './compute.ts';
export { resolveSignalConfig, type SignalConfig, type SignalOptions } from './config.ts';
export {
  correctTax,
  estimateTax,
  learnTax,
  type PlainRequest,
  type TaxEstimate,
  type TaxModel,
  TOKENIZED_MODEL,
  taxModelOf,
} from './context-tax.ts';
export type { TokenUsage } from './cost.ts';
export { type DefinitionForm, definitionText, type ToolDefinitionView } from './definition-text.ts';
export { canCountTokens, estimateTokens, prepareToCountTokens } from './estimate-tokens.ts';
export { type EvidenceFinding, type EvidenceInput, type EvidenceScores, scoreEvidence } from './evidence.ts';
export {
  areLong,
  type BoundedIdentity,
  boundedIdentity,
  identitySteps,
  STEP_CHARS,
  sampledShare,
  takeAll,
} from './large-texts.ts';
export {
  type AnswerSegment,
  type FindingPlace,
  markAnswer,
  meaningOfFinding,
} from './marked-answer.ts';
export { type CostSource, type PriceInput, priceUsage } from './price.ts';
export { type PriceOverride, type PriceOverrides, resolvePriceOverrides } from './price-overrides.ts';
export type { RiskLevel, RiskLevels, RiskWeights } from './risk.ts';
export {
  answerHash,
  normalizedPromptHash,
  normalizePrompt,
  numericVarianceScore,
  selfConsistencyScore,
} from './single.ts';
export type { Verifier, VerifierInput, VerifierResult } from './verifier.ts';
export { warmEvidence } from './warm-evidence.ts';
