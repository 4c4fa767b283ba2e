import { canonicalHash } from '../../json/index.ts';
import type { Golden, GoldenChecksum, UnsealedGolden } from './format.ts';

const PART_DIGITS = 8;

/** Adds the checksum. For programs that build goldens; to change a golden, record it again. */
export function sealGolden(golden: UnsealedGolden): Golden {
  const { checksum: _, approval, ...content } = golden as Golden;
  return {
    ...content,
    ...(approval === undefined ? {} : { approval }),
    checksum: computeChecksum(content),
  };
}

/** Where a golden was changed after it was sealed; empty when it was not. */
export function editedPlaces(golden: Golden): string[] {
  const { checksum, approval: _, ...content } = golden;
  const now = computeChecksum(content);
  if (now.sha256 === checksum.sha256) return [];
  const places = [...new Set([...Object.keys(checksum.parts), ...Object.keys(now.parts)])];
  const changed = places.filter((place) => checksum.parts[place] !== now.parts[place]);
  return changed.length === 0 ? ['checksum'] : changed;
}

/** Covers the expanded content, whatever the packing. */
function computeChecksum(content: UnsealedGolden): GoldenChecksum {
  const parts: Record<string, string> = {};
  for (const [place, value] of listParts(content)) parts[place] = canonicalHash(value).slice(0, PART_DIGITS);
  return { sha256: canonicalHash(content), parts };
}

/** The parts that are hashed one by one, to locate a change: fields, and the entries of long lists. */
function* listParts(content: UnsealedGolden): Generator<readonly [place: string, value: unknown]> {
  for (const [field, value] of Object.entries(content)) {
    if (field === 'provider_responses' || field === 'golden_output' || field === 'mcp_cassette') continue;
    yield [field, value];
  }
  for (const [index, exchange] of content.provider_responses.entries()) {
    for (const [field, value] of Object.entries(exchange)) {
      yield [`provider_responses[${index}].${field}`, value];
    }
  }
  for (const [field, value] of Object.entries(content.golden_output)) {
    if (!Array.isArray(value)) yield [`golden_output.${field}`, value];
    else for (const [index, entry] of value.entries()) yield [`golden_output.${field}[${index}]`, entry];
  }
  if (content.mcp_cassette === null) return;
  for (const [name, server] of Object.entries(content.mcp_cassette.servers)) {
    yield [`mcp_cassette.servers.${name}`, server];
  }
  for (const list of ['calls', 'offers'] as const) {
    for (const [index, call] of (content.mcp_cassette[list] ?? []).entries()) {
      yield [`mcp_cassette.${list}[${index}]`, call];
    }
  }
}
