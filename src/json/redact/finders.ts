/** All rules, found by the first three characters of what announces them. Made when first used. */

import { commandFinders } from './commands.ts';
import type { Find, Finder, Reading } from './find.ts';
import { findSchemeValue, findSignature, findTwilioKey, findUserInfo } from './forms.ts';
import { gitleaksTokens } from './gitleaks-rules.ts';
import { findPasswordHash, findPrivateKey } from './keys.ts';
import { findNamedValue } from './named-values.ts';
import { isRandom } from './opaque.ts';
import { discordRule, type TokenRule, tokenRules } from './token-rules.ts';

interface Entry {
  /** What the text has here, in lower case. */
  readonly start: string;
  readonly find: Finder;
}

/** Finders by the hash of three characters, five bits each. */
export interface FinderTable {
  /** 0, or one more than the index into `entries`. */
  readonly slots: Uint16Array;
  readonly entries: readonly (readonly Entry[])[];
}

export const HASH_MASK = 0x7fff;

let table: FinderTable | undefined;

export function finderTable(): FinderTable {
  table ??= makeTable(allEntries());
  return table;
}

/** The first secret that something at `at` announces. */
export function findAt(
  entries: readonly Entry[],
  text: string,
  at: number,
  reading: Reading,
): Find | undefined {
  for (const { start, find } of entries) {
    if (!startsWith(text, at, start)) continue;
    const found = find(text, at, reading);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Compares without regard to case. A few signs that differ in one bit count as equal: the finder looks again. */
function startsWith(text: string, at: number, start: string): boolean {
  if (at + start.length > text.length) return false;
  for (let index = 0; index < start.length; index += 1) {
    if ((text.charCodeAt(at + index) | 32) !== (start.charCodeAt(index) | 32)) return false;
  }
  return true;
}

function makeTable(all: readonly Entry[]): FinderTable {
  const slots = new Uint16Array(HASH_MASK + 1);
  const entries: Entry[][] = [];
  for (const entry of all) {
    let hash = 0;
    for (let index = 0; index < 3; index += 1) hash = (hash << 5) | (entry.start.charCodeAt(index) & 31);
    const slot = slots[hash] ?? 0;
    if (slot === 0) slots[hash] = entries.push([entry]);
    else entries[slot - 1]?.push(entry);
  }
  return { slots, entries };
}

function allEntries(): Entry[] {
  return [
    ...listEntries('-----begin', findPrivateKey),
    ...listEntries('$2a$ $2b$ $2x$ $2y$ $1$ $5$ $6$ $7$ $y$ $apr1$ $argon2', findPasswordHash),
    ...listEntries(TWILIO_STARTS, findTwilioKey),
    ...listEntries('://', findUserInfo),
    ...[discordRule(), ...tokenRules()].flatMap((rule) => listEntries(rule.starts, tokenFinder(rule))),
    ...gitleaksTokens().flatMap(([start, form]) =>
      listEntries(start, tokenFinder({ starts: start, form: new RegExp(form, 'y') })),
    ),
    ...listEntries('bearer basic', findSchemeValue),
    ...commandFinders().flatMap(([starts, find]) => starts.map((start) => ({ start, find }))),
    ...listEntries('sig= signature= x-amz- x-goog- code= samlre', findSignature),
    ...listEntries(
      'pass pwd pswd secret key token cookie auth cred jwt mnemonic phrase psk code session pw: pw" pw= "pw"',
      findNamedValue,
    ),
  ];
}

/** `AC` or `SK` and a hex digit. */
const TWILIO_STARTS = ['ac', 'sk']
  .flatMap((start) => [...'0123456789abcdef'].map((digit) => start + digit))
  .join(' ');

function listEntries(starts: string, find: Finder): Entry[] {
  return starts.split(' ').map((start) => ({ start, find }));
}

const REST_OF_TOKEN = /[\w-]*/y;

function tokenFinder({ form, offset = 0, kind = 'token', isMixed = false }: TokenRule): Finder {
  return (text, at) => {
    const start = at - offset;
    if (start < 0) return undefined;
    form.lastIndex = start;
    const match = form.exec(text);
    if (match === null || (isMixed && !isRandom(match[0]))) return undefined;
    REST_OF_TOKEN.lastIndex = form.lastIndex;
    REST_OF_TOKEN.exec(text);
    return { start, end: REST_OF_TOKEN.lastIndex, kind };
  };
}
