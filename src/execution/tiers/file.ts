/** Tiers in their file format, `schema/tiers.schema.json`. */
import { readFileSync } from 'node:fs';
import { ObservatoryError, packageFile } from '../../base/index.ts';
import { compileSchema, FILE_LIMITS, parseStrictJson } from '../../json/index.ts';
import type { TierLimits } from './types.ts';

interface TierDocument {
  readonly version: 1;
  readonly tiers: Readonly<
    Record<
      string,
      {
        readonly max_cost_usd: number;
        readonly min_confidence: number;
        readonly max_hallucination_risk: number;
      }
    >
  >;
}

/** @throws ObservatoryError `INVALID_INPUT` */
export function readTierFile(path: string): Record<string, TierLimits> {
  let text: Buffer;
  try {
    text = readFileSync(path);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new ObservatoryError('INVALID_INPUT', `The file of tiers '${path}' cannot be read (${code})`, {
      cause,
    });
  }
  try {
    return readTiers(text);
  } catch (cause) {
    if (!ObservatoryError.isInstance(cause)) throw cause;
    throw new ObservatoryError('INVALID_INPUT', `The file '${path}' cannot be used: ${cause.message}`, {
      cause,
    });
  }
}

/** @throws ObservatoryError `INVALID_INPUT` */
export function readTiers(input: string | Uint8Array | object): Record<string, TierLimits> {
  const document = typeof input === 'string' || input instanceof Uint8Array ? parse(input) : input;
  const verdict = tierSchema().check(document);
  if (!verdict.valid) {
    throw new ObservatoryError(
      'INVALID_INPUT',
      `Not a document of tiers (schema/tiers.schema.json): ${verdict.message}`,
    );
  }
  const limits = Object.entries((document as TierDocument).tiers).map(([name, tier]) => [
    name,
    {
      maxCostUsd: tier.max_cost_usd,
      minConfidence: tier.min_confidence,
      maxHallucinationRisk: tier.max_hallucination_risk,
    },
  ]);
  return Object.fromEntries(limits) as Record<string, TierLimits>;
}

function parse(input: string | Uint8Array): unknown {
  try {
    return parseStrictJson(input, FILE_LIMITS);
  } catch (cause) {
    throw new ObservatoryError('INVALID_INPUT', `Not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Compiled once from the schema file of the package, which editors can use too. */
function tierSchema(): ReturnType<typeof compileSchema> {
  const text = readFileSync(packageFile('schema/tiers.schema.json'), 'utf8');
  return compileSchema(JSON.parse(text));
}
