import { checkKinds, invalidOption, kinds, ObservatoryError } from '../base/index.ts';
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
  /** Overlap of the answer with a second answer, where one is given. @defaultValue true */
  readonly enableSelfConsistency?: boolean | undefined;
  /** The answer held against its tool calls and documents: the `evidence_*` fields. @defaultValue true */
  readonly enableEvidence?: boolean | undefined;
  /**
   * Where `verifier_score` comes from. `'evidence'`: 1 less the evidence risk, and the heuristic where there is no
   * evidence. `'heuristic'`: phrases and overlap. Or your own.
   * @defaultValue 'evidence'
   */
  readonly verifier?: Verifier | 'evidence' | 'heuristic' | undefined;
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
export type SignalConfig = Pick<SignalOptions, 'onVerifierError'> & {
  readonly verifier: Verifier | 'evidence' | 'heuristic';
} & {
  readonly [F in keyof typeof FLAGS]: boolean;
} & {
  readonly lowGroundingThreshold: number;
  readonly weights: RiskWeights;
  readonly levels: RiskLevels;
};

/** The switches and their defaults. */
const FLAGS = {
  enablePromptHash: true,
  enableGroundingScore: true,
  enableNumericVariance: true,
  enableToolClaimMismatch: true,
  enableVerifier: true,
  enableSelfConsistency: true,
  enableEvidence: true,
};

/**
 * Fills in the defaults and checks every value, once.
 *
 * @throws ObservatoryError `INVALID_OPTION` that names the option, the value seen and what is expected.
 */
export function resolveSignalConfig(options: SignalOptions = {}): SignalConfig {
  checkKinds(options, { weights: kinds.object, levels: kinds.object }, '`signals`');
  const weights = { ...DEFAULT_RISK_WEIGHTS };
  for (const name of listKeys(DEFAULT_RISK_WEIGHTS)) {
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
  const { verifier = 'evidence', onVerifierError } = options;
  const isNamed = verifier === 'evidence' || verifier === 'heuristic';
  if (!isNamed && typeof verifier?.score !== 'function') {
    throw invalid('verifier', "'evidence', 'heuristic' or an object with a method `score`", verifier);
  }
  if (onVerifierError !== undefined && typeof onVerifierError !== 'function') {
    throw invalid('onVerifierError', 'a function', onVerifierError);
  }
  const flags = { ...FLAGS };
  for (const name of listKeys(FLAGS)) {
    const value = options[name] ?? FLAGS[name];
    if (typeof value !== 'boolean') throw invalid(name, 'true or false', value);
    flags[name] = value;
  }
  const threshold = options.lowGroundingThreshold ?? DEFAULT_LOW_GROUNDING_THRESHOLD;
  return Object.freeze({
    ...flags,
    verifier,
    onVerifierError,
    lowGroundingThreshold: numberIn(threshold, 'lowGroundingThreshold', 1),
    weights: Object.freeze(weights),
    levels: Object.freeze(levels),
  });
}

function listKeys<T extends object>(object: T): (keyof T & string)[] {
  return Object.keys(object) as (keyof T & string)[];
}

function numberIn(value: unknown, name: string, largest = Number.MAX_VALUE): number {
  if (typeof value === 'number' && value >= 0 && value <= largest) return value;
  throw invalid(name, largest === 1 ? 'a number from 0 to 1' : 'a number from 0 up', value);
}

function invalid(name: string, expected: string, value: unknown): ObservatoryError {
  return invalidOption(`\`${name}\``, expected, value);
}

/** Reports why a score of an answer is missing. Never throws. */
export function reportVerifierError(error: unknown, { onVerifierError }: SignalConfig): void {
  try {
    onVerifierError?.(error);
  } catch {
    // An error handler that throws must not break the computation.
  }
}
