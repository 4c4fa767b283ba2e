import { ObservatoryError } from '../base/index.ts';
import { DEFAULT_RISK_LEVELS, DEFAULT_RISK_WEIGHTS, type RiskLevels, type RiskWeights } from './risk.ts';
import { DEFAULT_LOW_GROUNDING_THRESHOLD, type Verifier } from './verifier.ts';

/** Which signals are computed, and what the risk is made of. */
export interface SignalOptions {
  /** Hashes of the prompt and the answer. @defaultValue true */
  readonly enablePromptHash?: boolean | undefined;
  /** Overlap of the answer with the retrieved context. @defaultValue true */
  readonly enableGroundingScore?: boolean | undefined;
  /** Instability of the numbers in the answer or answers. @defaultValue true */
  readonly enableNumericVariance?: boolean | undefined;
  /** Success claimed where the tool failed. @defaultValue true */
  readonly enableToolClaimMismatch?: boolean | undefined;
  /** The verifier's score and reason. @defaultValue true */
  readonly enableVerifier?: boolean | undefined;
  /** Overlap of the answer with a second answer. @defaultValue false */
  readonly enableSelfConsistency?: boolean | undefined;
  /** Replaces the local heuristic verifier. */
  readonly verifier?: Verifier | undefined;
  /** Called when `verifier` threw or returned an unusable result; errors it throws are ignored. */
  readonly onVerifierError?: ((error: unknown) => void) | undefined;
  /** The local heuristic verifier objects to a grounding score below this, 0..1. @defaultValue 0.10 */
  readonly lowGroundingThreshold?: number | undefined;
  /** Weights of the risk components, 0 and up; those not named keep their default. */
  readonly weights?: Partial<RiskWeights> | undefined;
  /** Lower bounds of the risk levels, 0..1. @defaultValue medium 0.20, high 0.35 */
  readonly levels?: Partial<RiskLevels> | undefined;
}

/** {@link SignalOptions} with every default filled in, as {@link resolveSignalConfig} gives it. */
export interface SignalConfig {
  readonly enablePromptHash: boolean;
  readonly enableGroundingScore: boolean;
  readonly enableNumericVariance: boolean;
  readonly enableToolClaimMismatch: boolean;
  readonly enableVerifier: boolean;
  readonly enableSelfConsistency: boolean;
  readonly verifier: Verifier | undefined;
  readonly onVerifierError: ((error: unknown) => void) | undefined;
  readonly lowGroundingThreshold: number;
  readonly weights: RiskWeights;
  readonly levels: RiskLevels;
}

/**
 * Fills in the defaults and checks every value, once.
 *
 * @throws ObservatoryError `INVALID_OPTION` that names the option, the value seen and what is expected.
 */
export function resolveSignalConfig(options: SignalOptions = {}): SignalConfig {
  const weights = { ...DEFAULT_RISK_WEIGHTS };
  for (const name of keysOf(DEFAULT_RISK_WEIGHTS)) {
    weights[name] = numberIn(options.weights?.[name] ?? DEFAULT_RISK_WEIGHTS[name], `weights.${name}`);
  }
  if (Object.values(weights).every((weight) => weight === 0)) {
    throw new ObservatoryError('INVALID_OPTION', 'Expected at least one of `weights` to be above 0');
  }
  const levels: RiskLevels = {
    medium: numberIn(options.levels?.medium ?? DEFAULT_RISK_LEVELS.medium, 'levels.medium', 1),
    high: numberIn(options.levels?.high ?? DEFAULT_RISK_LEVELS.high, 'levels.high', 1),
  };
  if (levels.medium > levels.high) {
    const seen = `${levels.medium} and ${levels.high}`;
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Expected \`levels.medium\` <= \`levels.high\`, got ${seen}`,
    );
  }
  return Object.freeze({
    enablePromptHash: flag(options.enablePromptHash, true, 'enablePromptHash'),
    enableGroundingScore: flag(options.enableGroundingScore, true, 'enableGroundingScore'),
    enableNumericVariance: flag(options.enableNumericVariance, true, 'enableNumericVariance'),
    enableToolClaimMismatch: flag(options.enableToolClaimMismatch, true, 'enableToolClaimMismatch'),
    enableVerifier: flag(options.enableVerifier, true, 'enableVerifier'),
    enableSelfConsistency: flag(options.enableSelfConsistency, false, 'enableSelfConsistency'),
    verifier: verifierOf(options.verifier),
    onVerifierError: callback(options.onVerifierError),
    lowGroundingThreshold: numberIn(
      options.lowGroundingThreshold ?? DEFAULT_LOW_GROUNDING_THRESHOLD,
      'lowGroundingThreshold',
      1,
    ),
    weights: Object.freeze(weights),
    levels: Object.freeze(levels),
  });
}

function keysOf<T extends object>(object: T): (keyof T & string)[] {
  return Object.keys(object) as (keyof T & string)[];
}

function flag(value: unknown, byDefault: boolean, name: string): boolean {
  if (value === undefined) return byDefault;
  if (typeof value === 'boolean') return value;
  throw invalid(name, 'true or false', value);
}

function numberIn(value: unknown, name: string, largest = Number.MAX_VALUE): number {
  if (typeof value === 'number' && value >= 0 && value <= largest) return value;
  throw invalid(name, largest === 1 ? 'a number from 0 to 1' : 'a number from 0 up', value);
}

function verifierOf(value: Verifier | undefined): Verifier | undefined {
  if (value === undefined || typeof value?.score === 'function') return value;
  throw invalid('verifier', 'an object with a method `score`', value);
}

function callback(value: SignalOptions['onVerifierError']): SignalOptions['onVerifierError'] {
  if (value === undefined || typeof value === 'function') return value;
  throw invalid('onVerifierError', 'a function', value);
}

function invalid(name: string, expected: string, value: unknown): ObservatoryError {
  const seen =
    typeof value === 'object' && value !== null ? 'an object' : `${String(value)} (${typeof value})`;
  return new ObservatoryError('INVALID_OPTION', `Expected \`${name}\` to be ${expected}, got ${seen}`);
}
