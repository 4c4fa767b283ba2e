import { writePrivateFile } from '../../base/index.ts';
import { sealGolden } from './checksum.ts';
import { FORMAT_VERSION, type Golden, type UnsealedGolden } from './format.ts';
import { type PackedGolden, packExchanges } from './pack.ts';

const MEMBERS = [
  'format_version',
  'test_name',
  'description',
  'category',
  'runner',
  'source',
  'recorded_at',
  'expires_at',
  'versions',
  'input',
  'golden_output',
  'comparison',
  'provider_responses',
  'mcp_cassette',
  'approval',
  'checksum',
] as const satisfies readonly (keyof Golden)[];

/** Values up to this many characters are written on one line. */
const MAX_LINE = 100;

/** Members with one item per line, however long. */
const ONE_A_LINE: ReadonlySet<string> = new Set([
  'changes',
  'contents',
  'conversation_history',
  'events',
  'functionDeclarations',
  'messages',
  'tool_lists',
  'tools',
]);

/**
 * Seals a golden and writes it atomically, for its owner alone.
 * @returns the golden as written.
 */
export async function writeGolden(file: string, golden: UnsealedGolden): Promise<Golden> {
  const sealed = sealGolden({ ...golden, format_version: FORMAT_VERSION });
  await writePrivateFile(file, formatGolden(sealed));
  return sealed;
}

/** The text of a golden's file: packed, with one line per event, message and tool. */
export function formatGolden(golden: Golden): string {
  const provider_responses = packExchanges(golden.provider_responses);
  const packed: PackedGolden = { ...golden, format_version: FORMAT_VERSION, provider_responses };
  return formatLines(Object.fromEntries(MEMBERS.map((name) => [name, packed[name]])));
}

/** JSON with an indent of two, with short values and the items of long lists on one line each. */
export function formatLines(value: unknown): string {
  return `${print(value, '', '')}\n`;
}

function print(value: unknown, name: string, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const member = (item: unknown, key: string): string =>
    ONE_A_LINE.has(name) && !Array.isArray(item) ? JSON.stringify(item) : print(item, key, inner);
  const parts = Array.isArray(value)
    ? value.map((item: unknown) => member(item, name))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${JSON.stringify(key)}: ${member(item, key)}`);
  const length = parts.reduce((sum, part) => sum + part.length + 2, 0);
  const isLineEach = parts.length > 0 && Array.isArray(value) && ONE_A_LINE.has(name);
  const fits = !isLineEach && length <= MAX_LINE && !parts.some((part) => part.includes('\n'));
  if (fits) return open + parts.join(', ') + close;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`;
}
