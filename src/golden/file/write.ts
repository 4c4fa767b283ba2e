import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sealGolden } from './checksum.ts';
import type { Golden, UnsealedGolden } from './format.ts';

/** Lists of plain values up to this many characters stand on one line. */
const MAX_LINE = 80;

/** Members whose items stand on one line each, however long. */
const ONE_ITEM_A_LINE: ReadonlySet<string> = new Set(['events']);

/**
 * Seals a golden and writes it, in one step: a reader sees the old file or the new one, never half of one.
 * @returns the golden as written.
 */
export async function writeGolden(file: string, golden: UnsealedGolden): Promise<Golden> {
  const sealed = sealGolden(golden);
  await mkdir(dirname(file), { recursive: true });
  const beside = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeFile(beside, formatGolden(sealed));
    await rename(beside, file);
  } finally {
    await rm(beside, { force: true });
  }
  return sealed;
}

/** The text of a golden's file: JSON with two spaces, and each event of a stream on a line of its own. */
export function formatGolden(golden: Golden): string {
  return `${print(golden, '', '')}\n`;
}

function print(value: unknown, name: string, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (isShort(value)) return `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
    const whole = ONE_ITEM_A_LINE.has(name);
    const items = value.map((item) => inner + (whole ? JSON.stringify(item) : print(item, '', inner)));
    return `[\n${items.join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => `${inner}${JSON.stringify(key)}: ${print(member, key, inner)}`);
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}

function isShort(list: readonly unknown[]): boolean {
  let length = 0;
  for (const item of list) {
    if (typeof item === 'object' && item !== null) return false;
    length += String(item).length + 4;
    if (length > MAX_LINE) return false;
  }
  return true;
}
