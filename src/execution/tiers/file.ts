/** Tiers in their file format, `schema/tiers.schema.json`. */
import { readFileSync } from 'node:fs';
import { camelKeys, ObservatoryError, packageFile } from '../../base/index.ts';
import { compileSchema, FILE_LIMITS, parseStrictJson } from '../../json/index.ts';
import type { TierLimits } from './types.ts';

/** @throws ObservatoryError `INVALID_INPUT` */
export function readTierFile(path: string): Record<string, TierLimits> {
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
export function readTiers(input: string | Uint8Array | object): Record<string, TierLimits> {
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
