/**
 * Secrets that are known by their name: `password=...`, `"api_key": "..."`, `--token ...`, `Authorization: ...`,
 * `<secret>...</secret>`, a cell beside it, `{name: ..., value: ...}`, a column of a table. The name stays.
 */
import type { Find, Finder, Reading } from './find.ts';
import { isInvisible } from './fold.ts';
import { type NameKind, nameKind } from './names.ts';
import { entropyOf, hasLettersAndDigits, isPlaceholder } from './opaque.ts';
import { findPair } from './pairs.ts';
import { findColumns } from './tables.ts';
import { type Assignment, findBlock, findList, findValue, isTelling } from './values.ts';

/** Longest name looked at. */
const MAX_NAME = 64;

/** Longest end of a name, from the word on that announces it. */
const MAX_REST = 40;

/** A quote, also as JSON in JSON, in an address, in HTML. */
const QUOTE = `\\\\{0,7}["'\`]|\\\\{1,4}u002[27]|%(?:25)?2[27]|&quot;|&#3[49];`;

/** Between a name and its value: the quote that ends the name, an operator, the quote that begins the value. */
const OPERATOR = new RegExp(
  `(${QUOTE})?\\]?(?:\\*\\*|__)?(?:[ \\t]{0,4}(=>|->|:=|={1,3}|::?|,|%(?:25)?3[dDaA]|&#61;)(?:\\*\\*|__|</\\w{1,8}>)?\\s{0,8}|(>)|[ \\t]{1,4})(${QUOTE})?`,
  'y',
);

/** A name as it was read. */
interface Name {
  readonly start: number;
  readonly end: number;
  readonly kind: NameKind;
}

/** Finds the secret whose name the word at `at` is part of. */
export const findNamedValue: Finder = (text, at, reading) => {
  const name = readName(text, at);
  if (name === undefined) return undefined;
  const found = findAssigned(text, name, reading);
  if (found !== undefined) return found;
  // What is before and behind the name says which form it can have.
  const before = text.charCodeAt(name.start - 1);
  const next = text.charAt(name.end);
  return (
    (before < 0x40 ? findTagged(text, name) : undefined) ??
    (CELL_SIGNS.includes(next) ? findCell(text, name) : undefined) ??
    (before < 0x40 || before === 0x60 ? findPair(text, name.start, name.end, name.kind) : undefined) ??
    (COLUMN_SIGNS.includes(next) ? findColumns(text, name.start, reading) : undefined) ??
    (TOLD_SIGNS.includes(next) ? findTold(text, name) : undefined)
  );
};

const CELL_MARKS = `"'\`*_: `;
const CELL_SIGNS = `|\t <"'\`*_:`;
const COLUMN_SIGNS = `|\t ,;"'\`*\r\n)]`;
const TOLD_SIGNS = ` :"'\`*\r\n`;

/** Words that name a secret together with those before them: `API key`, `mot de passe`. */
const LAST_WORD = /^(?:keys?|tokens?|secrets?|codes?|passe|phrase|words|khau|المرور|السر)$/i;

function readName(text: string, at: number): Name | undefined {
  let end = at;
  while (end < text.length && end - at < MAX_REST && isNameChar(text.charCodeAt(end))) end += 1;
  // The word must be the last of the name, or near it.
  if (end - at >= MAX_REST) return undefined;
  let start = at;
  while (start > 0 && at - start < MAX_NAME && isNameChar(text.charCodeAt(start - 1))) start -= 1;
  // Escaped letters: `contrase\u00f1a`.
  if (text.charAt(end) === '\\' || text.charAt(at) === '\\') {
    ESCAPED_NAME.lastIndex = at;
    end = at + (ESCAPED_NAME.exec(text)?.[0].length ?? end - at);
  }
  let kind = nameKind(text.slice(start, end));
  if (kind === undefined || kind === 'faint' || kind === 'weak') {
    if (!LAST_WORD.test(text.slice(start, end))) return kind && { start, end, kind };
    let from = start;
    for (let words = 0; words < 3 && from > 1 && text.charAt(from - 1) === ' '; words += 1) {
      let to = from - 1;
      while (to > 0 && from - to < 20 && isNameChar(text.charCodeAt(to - 1))) to -= 1;
      if (to === from - 1) break;
      from = to;
      const wider = nameKind(text.slice(from, end));
      if (wider === 'strong') return { start: from, end, kind: wider };
      kind ??= wider;
    }
  }
  return kind && { start, end, kind };
}

const ESCAPED_NAME = /(?:[\w.-]|\\{1,4}u(?!002[27])[\da-fA-F]{4}){1,100}/y;

function findAssigned(text: string, { start, end, kind }: Name, reading: Reading): Find | undefined {
  OPERATOR.lastIndex = end;
  const match = OPERATOR.exec(text);
  if (match === null) return undefined;
  const [whole, nameQuote, operator, tag, quote] = match;
  if (operator === ',' && (nameQuote === undefined || quote === undefined)) return undefined;
  if (tag !== undefined && !isTagOpen(text, start)) return undefined;
  const isOption = text.startsWith('--', start) || isFlag(text, start);
  if (operator === undefined && tag === undefined && !isOption) {
    return isStatement(text, start, quote) ? findValue(text, end + whole.length, quote, { kind }) : undefined;
  }
  const from = end + whole.length;
  const assignment: Assignment = {
    kind,
    reading,
    isKey: nameQuote !== undefined,
    isTight: tag !== undefined || /^(?:=|%(?:25)?3d|&#61;)$/i.test(whole),
    isTagged: tag !== undefined,
    isLoose: (operator === ',' && !isOption) || operator === '==' || operator === '===',
    isSetting: () => isSetting(text, start, from, isOption, operator),
  };
  if (tag !== undefined && text.startsWith('<![CDATA[', from)) {
    return findValue(text, from + 9, undefined, { ...assignment, isTagged: false });
  }
  if (quote === undefined && operator !== undefined) return findUnquoted(text, from, whole, assignment);
  return findValue(text, from, quote, assignment);
}

const BLOCK = /[|>][+-]?\d?[ \t]{0,4}(?=\r?\n)/y;

/** A value without quotes: a YAML block, a list, `PWD={...}`, `N'...'`, a plain one. */
function findUnquoted(text: string, from: number, whole: string, assignment: Assignment): Find | undefined {
  const first = text.charAt(from);
  if (first === '|' || first === '>') {
    BLOCK.lastIndex = from;
    return BLOCK.test(text) ? findBlock(text, BLOCK.lastIndex, assignment.kind) : undefined;
  }
  if (first === '[') return findList(text, from, assignment);
  if (first === '-' && /\n/.test(whole))
    return findList(text, from - (whole.length - whole.search(/\r?\n/)), assignment);
  if (first === '{' && assignment.isTight === true) {
    const found = findValue(text, from + 1, '}', { kind: assignment.kind });
    return found !== undefined && /\d/.test(text.slice(found.start, found.end)) ? found : undefined;
  }
  if (first === 'N' && text.charAt(from + 1) === "'") return findValue(text, from + 2, "'", assignment);
  return findValue(text, from, undefined, assignment);
}

/** `<name>`, `<ns:name>` */
function isTagOpen(text: string, start: number): boolean {
  return (
    text.charAt(start - 1) === '<' ||
    (text.charAt(start - 1) === ':' && /<\w{1,20}:$/.test(text.slice(Math.max(0, start - 22), start)))
  );
}

/** `-Password`, as PowerShell and Java have it. */
function isFlag(text: string, start: number): boolean {
  return text.charAt(start) === '-' && text.charAt(start + 1) !== '-' && /\s/.test(text.charAt(start - 1));
}

/** `ENV DB_PASSWORD x`, `setx API_KEY x`, `requirepass x`, `WITH PASSWORD 'x'`. */
function isStatement(text: string, start: number, quote: string | undefined): boolean {
  const before = text.slice(Math.max(0, start - 24), start);
  if (
    quote === "'" &&
    /\b(?:role|user|with|login|encrypted|\w['"`]?)\s$/i.test(before) &&
    /^PASSWORD\s/i.test(text.slice(start, start + 9))
  )
    return true;
  return (
    /(?:^|[\n\s;&'"`])(?:ENV|ARG|setx|setenv|set -[gUx]{1,3}|configure set|config set|secret set)\s+$/.test(
      before,
    ) ||
    (/(?:^|\n)\s*$/.test(before) && /^(?:requirepass|masterauth)\s/.test(text.slice(start, start + 12)))
  );
}

const NO_VALUE =
  /^(?:option|flag|argument|param(?:eter)?|instead|authentication|prompt|stdin|file|string|value|name|PASSWORD|to|or|and|from|if|for|is|in|with|when|because|which|that|does|must|should)\b/i;

/** Whether a word without digits is a value here: after an option, in a file of settings. */
function isSetting(
  text: string,
  start: number,
  from: number,
  isOption: boolean,
  operator: string | undefined,
): boolean {
  if (!isOption && operator !== '=') return false;
  const value = text.slice(from, from + 40);
  if (NO_VALUE.test(value) || !/^["']?[\w!@#$%^*+./=~-]{4}/.test(value)) return false;
  if (isOption)
    return /^["']?[a-z][a-z\d!@#$%^*+./=~-]{5,127}["']?(?:\s|$)/.test(value) && isCommand(text, start);
  const before = text.slice(Math.max(0, start - 120), start);
  if (operator === '=') {
    // Environment in front of a command.
    if (/^[A-Z]/.test(text.charAt(start)) && /(?:^|[\n;&|$]\s{0,4}|export |env )$/.test(before))
      return /^[^\s"'`(),;]{6,128}(?:\s|$)/.test(value) && text.charAt(from - 1) === '=';
    // A file of settings: a section or a user's name before it.
    return (
      /(?:^|\n)[ \t]*(?:\[[\w. :-]{1,40}\]|(?:user(?:name)?|login|host|email|repository)[ \t]*=[ \t]*[^\s"'(),;]{1,64})[ \t]*\r?\n(?:[\w.]{1,20}[ \t]*=[ \t]*[^\s"'(),;]{1,64}\r?\n){0,2}[ \t]*$/.test(
        before,
      ) && /^[^\s"'`(),;]{6,128}[ \t]*(?:\r?\n|$)/.test(value)
    );
  }
  return false;
}

/** Whether a line looks like a command up to an option: no sentence before it. */
function isCommand(text: string, start: number): boolean {
  const line =
    text
      .slice(Math.max(0, start - 200), start)
      .split('\n')
      .at(-1) ?? '';
  const words = line
    .replace(/^[$#>\s]+/, '')
    .split(/\s+/)
    .filter((word) => word !== '');
  const command = words.find((word) => !/^[A-Z_]+=/.test(word) && word !== 'sudo');
  return (
    command !== undefined &&
    /^[a-z./][\w./-]*$/.test(command) &&
    words.every((word) => /^["']?[\w./:@=,%+\\-]+["']?$/.test(word) && !/[.,:]$/.test(word))
  );
}

const ATTRIBUTES = /(?:["'][^<>]{0,100}|\s[^<>]{0,100})>(?!\s)/y;

/** `<Password Type="...">x</Password>`, `<property name="password">x</property>` */
function findTagged(text: string, { start, end, kind }: Name): Find | undefined {
  const before = text.slice(Math.max(0, start - 60), start);
  if (!before.includes('<') || !/<[\w:]{0,20}$|<\w{1,20}\s[^<>]{0,30}(?:name|key|id)=["']$/.test(before))
    return undefined;
  ATTRIBUTES.lastIndex = end;
  if (!ATTRIBUTES.test(text)) return undefined;
  return findValue(text, ATTRIBUTES.lastIndex, undefined, { kind, isTight: true, isTagged: true });
}

const CELL =
  /["'`*_: ]{0,6}(?:[ \t]\|[ \t]{0,40}|\|[ \t]{1,40}|\t{1,4}|[ \t]{2,40}|:?<\/(?:td|th|dt|key|b|strong|label|span|name|li|div|p)>\s{0,40}(?:<(?:td|dd|string|span|value|code|th|div|p|input)\b[^<>]{0,100}>\s{0,40}){1,2})["'`*]{0,3}/y;
const CELL_VALUE = /[^\s"'`<>|]{6,512}(?=["'`*]{0,3}[ \t]{0,40}(?:\||\t| {2}|\r?\n|<|$))/y;

/** The cell to the right of one with the name. */
function findCell(text: string, { start, end, kind }: Name): Find | undefined {
  let sign = end;
  while (sign < end + 8 && CELL_MARKS.includes(text.charAt(sign))) sign += 1;
  if (!/[|\t<]/.test(text.charAt(sign)) && text.slice(sign - 2, sign) !== '  ') return undefined;
  CELL.lastIndex = end;
  const between = CELL.exec(text)?.[0];
  if (between === undefined || !/[|\t<]|^ {2}/.test(between)) return undefined;
  // Columns of blanks only where the name begins the line.
  if (!/[|\t<]/.test(between) && !/(?:^|\n)[ \t]{0,8}$/.test(text.slice(Math.max(0, start - 9), start)))
    return undefined;
  CELL_VALUE.lastIndex = CELL.lastIndex;
  const value = CELL_VALUE.exec(text)?.[0];
  if (value === undefined || nameKind(value) !== undefined || isPlaceholder(value)) return undefined;
  const isSecret = isTelling(value, kind);
  return isSecret ? { start: CELL.lastIndex, end: CELL_VALUE.lastIndex, kind: 'secret' } : undefined;
}

const TOLD =
  /["'`*]{0,2}(?: (?:for|of) \S{1,40}? ?[:=]| -| (?:is|was|are|will be|set to|changed to|to|equals)(?: set to| changed to)?:?) ["'`*]{0,2}/y;
const NEXT_LINE = /\r?\n[ \t]{0,8}/y;
const TOLD_VALUE = /[^\s"'`<>,;(){}[\]|]{6,512}/y;
const CODES =
  /:?\s{1,4}(?:(?:\d{1,2}[.)]|[-*•])?[ \t]{0,4}[A-Za-z\d]{3,8}(?:[- ]?[A-Za-z\d]{3,8}){1,3}[,;]?\s{0,4}){1,20}/y;
const WORDS =
  /["'`*]{0,2}:?["'`*]{0,2}\s{1,4}["'`]?((?:\d{1,2}[.)]\s?)?[a-z]{3,8}(?:[\s,]{1,3}(?:\d{1,2}[.)]\s?)?[a-z]{3,8}){11,23})\b/y;
const BASE32 = /["'`*]{0,2}:["'`*]{0,2}\s{1,4}((?:[A-Z2-7]{4}[ -]){2,12}[A-Z2-7]{2,4})\b/y;

/** What a sentence says the secret is: `The password is ...`, recovery codes and seed phrases after their label. */
function findTold(text: string, { start, end, kind }: Name): Find | undefined {
  const name = text.slice(start, end);
  const whole = /codes$/i.test(name) ? telling(CODES, text, end, /\d[^\n]*[-\d]/) : undefined;
  const words = /(?:phrase|words|mnemonic)$/i.test(name) ? group(WORDS, text, end) : undefined;
  const found = whole ?? words ?? (/secret|key/i.test(name) ? group(BASE32, text, end) : undefined);
  if (found !== undefined) return found;
  TOLD.lastIndex = end;
  const isTold = TOLD.exec(text) !== null;
  const from = isTold ? TOLD.lastIndex : end;
  if (!isTold) {
    NEXT_LINE.lastIndex = end;
    if (kind !== 'strong' || NEXT_LINE.exec(text) === null) return undefined;
  }
  const at = isTold ? from : NEXT_LINE.lastIndex;
  TOLD_VALUE.lastIndex = at;
  const value = TOLD_VALUE.exec(text)?.[0].replace(/[.!?:]+$/, '');
  if (value === undefined || isPlaceholder(value) || nameKind(value) !== undefined) return undefined;
  if (!isTelling(value, isTold ? kind : 'weak') || (value.length < 8 && !/pass|pwd/i.test(name)))
    return undefined;
  return { start: at, end: at + value.length, kind: 'secret' };
}

function group(form: RegExp, text: string, at: number): Find | undefined {
  form.lastIndex = at;
  const value = form.exec(text)?.[1];
  return value === undefined
    ? undefined
    : { start: form.lastIndex - value.length, end: form.lastIndex, kind: 'secret' };
}

function telling(form: RegExp, text: string, at: number, must: RegExp): Find | undefined {
  form.lastIndex = at;
  const match = form.exec(text)?.[0];
  if (match === undefined || !must.test(match)) return undefined;
  const value = match.trimEnd();
  const start = at + (value.length - value.replace(/^[:\s]+/, '').length);
  return { start, end: at + value.length, kind: 'secret' };
}

/** Values that vendors make, of a fixed form, under a name with the vendor in it. */
export function vendorFinder(word: string, source: string, entropy: number): Finder {
  const form = new RegExp(`(?:${source})(?![\\w-])`, 'iy');
  const hasOwnStart = /^\(?(?:\?:)?(?:[a-z]{2,}[_.-]|sl\\.)/.test(source);
  return (text, at) => {
    VENDOR_OPERATOR.lastIndex = at + word.length;
    const between = VENDOR_OPERATOR.exec(text);
    if (between === null) return undefined;
    const start = VENDOR_OPERATOR.lastIndex;
    if (!hasOwnStart && !SECRET_WORD.test(text.slice(Math.max(0, at - 50), start))) return undefined;
    form.lastIndex = start;
    const value = form.exec(text)?.[0];
    if (value === undefined || !hasLettersAndDigits(value) || entropyOf(value) < entropy) return undefined;
    return { start, end: start + value.length, kind: 'secret' };
  };
}

const VENDOR_OPERATOR = /[ \t\w.-]{0,20}["']?[ \t]{0,3}(?:=>|:=|=|:|,)[ \t]{0,4}["'`]?/y;
const SECRET_WORD = /key|token|secret|pass|auth|cred|bearer|webhook|sdk/i;

function isNameChar(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 46 ||
    (code >= 0x80 && isLetterChar(code))
  );
}

/** Letters beyond ASCII, and signs without width between them; not punctuation. */
function isLetterChar(code: number): boolean {
  return isInvisible(code) || (code >= 0x370 && !(code >= 0x2000 && code <= 0x303f));
}
