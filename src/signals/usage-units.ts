import { isObject, type JsonObject, readList, toText } from '../json/index.ts';
import type { RequestUsage, TokenUsage } from './cost.ts';
import { listModes } from './modes.ts';
import { OTHER_UNITS, REQUEST_UNITS } from './usage.ts';
import { readCount } from './usage-place.ts';

/** Units without a column. */
const UNITS = ['cacheWrite1hTokens', ...OTHER_UNITS] as const;

/** `cache_write_1h_tokens` of `cacheWrite1hTokens`. */
const WIRE_NAMES: ReadonlyMap<keyof TokenUsage, string> = new Map(
  [...REQUEST_UNITS, ...OTHER_UNITS].map((unit) => [
    unit,
    unit.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`),
  ]),
);

/**
 * What a cost depends on besides the columns of tokens, as the JSON of the column `usage_units`:
 * `{"input_audio_tokens":100,"web_searches":3,"modes":["speed fast"]}`. `undefined` where there is nothing.
 */
export function writeUsageUnits(
  usage: TokenUsage,
  serviceTier?: string,
  address?: string,
): string | undefined {
  const modes = listModes(usage.modes, serviceTier, address);
  const found = {
    ...writeCounts(usage, UNITS),
    ...(modes.length === 0 ? {} : { modes }),
    ...(usage.requests === undefined ? {} : { requests: usage.requests.map(writeRequest) }),
  };
  return Object.keys(found).length === 0 ? undefined : JSON.stringify(found);
}

/** Reads what {@link writeUsageUnits} wrote; of other values what can be read. */
export function readUsageUnits(value: unknown): TokenUsage {
  if (!isObject(value)) return {};
  const requests = readList(value.requests).filter(isObject).map(readRequest);
  const modes = readList(value.modes).filter((mode) => typeof mode === 'string');
  return {
    ...readCounts(value, UNITS),
    ...(modes.length === 0 ? {} : { modes }),
    ...(requests.length === 0 ? {} : { requests }),
  };
}

function writeRequest(request: RequestUsage): JsonObject {
  return {
    ...(request.model === undefined ? {} : { model: request.model }),
    ...writeCounts(request, REQUEST_UNITS),
  };
}

function readRequest(value: JsonObject): RequestUsage {
  const model = toText(value.model);
  return { ...(model === undefined ? {} : { model }), ...readCounts(value, REQUEST_UNITS) };
}

function writeCounts(usage: TokenUsage, units: readonly (keyof TokenUsage)[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const unit of units) {
    const count = usage[unit];
    if (typeof count === 'number' && count > 0) found[WIRE_NAMES.get(unit) ?? unit] = count;
  }
  return found;
}

function readCounts(value: JsonObject, units: readonly (keyof TokenUsage)[]): TokenUsage {
  const found: { [unit: string]: number } = {};
  for (const unit of units) {
    const count = readCount(value[WIRE_NAMES.get(unit) ?? unit]);
    if (count !== undefined) found[unit] = count;
  }
  return found;
}
