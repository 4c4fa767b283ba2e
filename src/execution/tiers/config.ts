import { readFileSync } from 'node:fs';
import {
  camelKeys,
  checkValue,
  invalidOption,
  kinds,
  ObservatoryError,
  packageFile,
} from '../../base/index.ts';
import { compileSchema, FILE_LIMITS, parseStrictJson } from '../../json/index.ts';
import { isShare } from './judge.ts';
import type { ExecutionTier, TierLimits } from './types.ts';

/** Limits of the three tiers that `fromBaseCost` makes. All are 0..1. */
export interface BaseCostLimits {
  readonly tier1Confidence: number;
  readonly tier1HallucinationRisk: number;
  /** @defaultValue 0.75 */
  readonly tier2Confidence?: number | undefined;
  /** @defaultValue 0.30 */
  readonly tier2HallucinationRisk?: number | undefined;
  /** @defaultValue 0.85 */
  readonly tier3Confidence?: number | undefined;
  /** @defaultValue 0.20 */
  readonly tier3HallucinationRisk?: number | undefined;
}

/** Tiers by name. */
export class TieredExecutionConfig {
  readonly #tiers: ReadonlyMap<string, ExecutionTier>;

  /**
   * @param tiers limits by the name of the tier, in the order in which `names` lists them.
   * @throws ObservatoryError `INVALID_OPTION` that names the tier, the limit and the value seen.
   */
  constructor(tiers: Readonly<Record<string, TierLimits>>) {
    checkValue('the tiers of TieredExecutionConfig', tiers, kinds.object);
    const entries = Object.entries(tiers).map(([name, limits]) => [name, checkTier(name, limits)] as const);
    if (entries.length === 0)
      throw new ObservatoryError('INVALID_OPTION', 'Expected at least one tier, got none');
    this.#tiers = new Map(entries);
  }

  /**
   * Three tiers with one, two and three times the base budget and increasingly strict limits: `tier_1`, `tier_2`,
   * `tier_3`.
   * @param baseCostUsd budget of one call of `tier_1`, in US dollars.
   * @throws ObservatoryError `INVALID_OPTION`
   */
  static fromBaseCost(baseCostUsd: number, limits: BaseCostLimits): TieredExecutionConfig {
    return new TieredExecutionConfig({
      tier_1: {
        maxCostUsd: baseCostUsd,
        minConfidence: limits.tier1Confidence,
        maxHallucinationRisk: limits.tier1HallucinationRisk,
      },
      tier_2: {
        maxCostUsd: baseCostUsd * 2,
        minConfidence: limits.tier2Confidence ?? 0.75,
        maxHallucinationRisk: limits.tier2HallucinationRisk ?? 0.3,
      },
      tier_3: {
        maxCostUsd: baseCostUsd * 3,
        minConfidence: limits.tier3Confidence ?? 0.85,
        maxHallucinationRisk: limits.tier3HallucinationRisk ?? 0.2,
      },
    });
  }

  /**
   * Tiers from a file of the form `schema/tiers.schema.json`.
   * @throws ObservatoryError `INVALID_INPUT` when it cannot be read or is not of that form.
   */
  static fromFile(path: string): TieredExecutionConfig {
    return new TieredExecutionConfig(readTierFile(path));
  }

  /**
   * Tiers from the text or the parsed form of such a file.
   * @throws ObservatoryError `INVALID_INPUT`
   */
  static fromJson(document: string | object): TieredExecutionConfig {
    return new TieredExecutionConfig(readTiers(document));
  }

  /** The names of the tiers. */
  get names(): readonly string[] {
    return [...this.#tiers.keys()];
  }

  /** @throws ObservatoryError `UNKNOWN_TIER` that lists the known ones. */
  tier(name: string): ExecutionTier {
    const tier = this.#tiers.get(name);
    if (tier !== undefined) return tier;
    throw new ObservatoryError(
      'UNKNOWN_TIER',
      `There is no tier '${name}'. Known are: ${this.names.map((known) => `'${known}'`).join(', ')}`,
    );
  }
}

function checkTier(name: string, limits: TierLimits): ExecutionTier {
  const { maxCostUsd, minConfidence, maxHallucinationRisk, maxEvidenceRisk = 1 } = limits;
  if (typeof maxCostUsd !== 'number' || !(maxCostUsd >= 0)) {
    throw invalidOption(`'maxCostUsd' of the tier '${name}'`, 'a number of US dollars from 0 up', maxCostUsd);
  }
  for (const [limit, value] of Object.entries({ minConfidence, maxHallucinationRisk, maxEvidenceRisk })) {
    if (!isShare(value))
      throw invalidOption(`'${limit}' of the tier '${name}'`, 'a number from 0 to 1', value);
  }
  return Object.freeze({
    name,
    maxCostUsd,
    minConfidence,
    maxHallucinationRisk,
    ...(limits.maxEvidenceRisk !== undefined && { maxEvidenceRisk }),
  });
}

/** @throws ObservatoryError `INVALID_INPUT` */
function readTierFile(path: string): Record<string, TierLimits> {
  let text: Buffer;
  try {
    text = readFileSync(path);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw invalidInput(`The file of tiers '${path}' cannot be read (${code})`, cause);
  }
  try {
    return readTiers(text);
  } catch (cause) {
    if (!ObservatoryError.isInstance(cause)) throw cause;
    throw invalidInput(`The file '${path}' cannot be used: ${cause.message}`, cause);
  }
}

/** @throws ObservatoryError `INVALID_INPUT` */
function readTiers(input: string | Uint8Array | object): Record<string, TierLimits> {
  const document = typeof input === 'string' || input instanceof Uint8Array ? parse(input) : input;
  const verdict = tierSchema().check(document);
  if (!verdict.valid) {
    throw invalidInput(`Not a document of tiers (schema/tiers.schema.json): ${verdict.message}`);
  }
  const { tiers } = document as { readonly tiers: Readonly<Record<string, object>> };
  return Object.fromEntries(
    Object.entries(tiers).map(([name, tier]) => [name, camelKeys(tier) as unknown as TierLimits]),
  );
}

function parse(input: string | Uint8Array): unknown {
  try {
    return parseStrictJson(input, FILE_LIMITS);
  } catch (cause) {
    throw invalidInput(`Not JSON: ${(cause as Error).message}`, cause);
  }
}

/** Compiled once from the schema file of the package, which editors can use too. */
function tierSchema(): ReturnType<typeof compileSchema> {
  const text = readFileSync(packageFile('schema/tiers.schema.json'), 'utf8');
  return compileSchema(JSON.parse(text));
}

function invalidInput(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_INPUT', message, { cause });
}
