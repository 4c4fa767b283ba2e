/**
 * Secrets that are known by their name: `password=...`, `"api_key": "..."`, `--token ...`, `Authorization: ...`,
 * `{"name": ..., "value": ...}`, `the password is ...`. The name stays.
 */
import type { Find, Finder, Reading } from './find.ts';
import { type NameKind, nameKind } from './names.ts';
import { isPlaceholder } from './opaque.ts';
import { findPair, isPlainLine, NEW_LINE } from './pairs.ts';
import { findList, findValue, isSecretName, isTelling } from './values.ts';

const MAX_NAME = 64;

/** Longest end of a name, from the word on that announces it. */
const MAX_REST = 40;

/** A quote, also as JSON in JSON, in an address, in HTML. */
const QUOTE = `\\\\{0,7}["'\`]|\\\\{1,4}u002[27]|%(?:25)?2[27]|&quot;|&#3[49];`;

/** Between a name and its value: the quote that ends the name, an operator, the quote that begins the value. */
const OPERATOR = new RegExp(
  `(${QUOTE})?\\]?(?:\\*\\*|__)?(?:[ \\t]{0,4}(=>|:=|={1,3}|:|,|%(?:25)?3[dDaA]|&#61;)(?:\\*\\*|__)?\\s{0,8}|[ \\t]{1,4})(${QUOTE})?`,
  'y',
);

interface Name {
  readonly start: number;
  readonly end: number;
  readonly kind: NameKind;
}

/** Finds the secret whose name the word at `at` is part of. */
export const findNamedValue: Finder = (text, at, reading) => {
  const name = readName(text, at);
  if (name === undefined) return undefined;
  return (
    findAssigned(text, name, reading) ??
    findPair(text, name.start, name.end, name.kind) ??
    findTold(text, name)
  );
};

/** Words that name a secret together with the one before them: `API key`. */
const LAST_WORD = /^(?:keys?|tokens?|secrets?|codes?|phrase)$/i;

function readName(text: string, at: number): Name | undefined {
  let end = at;
  while (end < text.length && end - at < MAX_REST && isNameChar(text.charCodeAt(end))) end += 1;
  // The word must be the last of the name, or near it.
  if (end - at >= MAX_REST) return undefined;
  let start = at;
  while (start > 0 && at - start < MAX_NAME && isNameChar(text.charCodeAt(start - 1))) start -= 1;
  // The letter belongs to a line break or tab, as JSON writes it.
  if (/^\\[nrt]/.test(text.slice(start - 1, start + 1)) && nameKind(text.slice(start + 1, end))) start += 1;
  const kind = nameKind(text.slice(start, end));
  if ((kind === undefined || kind === 'weak') && LAST_WORD.test(text.slice(start, end))) {
    let from = start - 1;
    while (from > 0 && start - from < 20 && isNameChar(text.charCodeAt(from - 1))) from -= 1;
    const isTwoWords = text.charAt(start - 1) === ' ' && from < start - 1;
    if (isTwoWords && nameKind(text.slice(from, end)) === 'strong')
      return { start: from, end, kind: 'strong' };
  }
  return kind && { start, end, kind };
}

function isNameChar(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 46
  );
}

function findAssigned(text: string, { start, end, kind }: Name, reading: Reading): Find | undefined {
  OPERATOR.lastIndex = end;
  const match = OPERATOR.exec(text);
  if (match === null) return undefined;
  const [whole, nameQuote, operator, quote] = match;
  if (operator === ',' && (nameQuote === undefined || quote === undefined)) return undefined;
  const isOption = text.startsWith('--', start) || isFlag(text, start);
  const from = end + whole.length;
  const isSet = operator === ',' && isSetter(text, start, end);
  if (operator === undefined && !isOption) {
    const isWord = (): boolean => isUpperCase(text.slice(start, end)) && isPlainLine(text, from);
    return isStatement(text, start) ? findValue(text, from, quote, { kind, isWord }) : undefined;
  }
  const assignment = {
    kind,
    reading,
    isKey: nameQuote !== undefined,
    isTight: /^(?:=|%(?:25)?3d|&#61;)$/i.test(whole) && !isDeclared(text, start),
    isLoose: (operator === ',' && !isOption && !isSet) || operator === '==' || operator === '===',
    isWord: () =>
      isSet ||
      (isOption
        ? isArgument(text, start, from)
        : whole === '='
          ? isUpperCase(text.slice(start, end)) && !isDeclared(text, start) && isWhole(text, from)
          : isSetting(text, start, operator) && isPlainLine(text, from)),
  };
  const first = quote === undefined && operator !== undefined ? text.charAt(from) : '';
  if (first === '[') return findList(text, from, assignment);
  // `PWD={...}` of a connection string
  if (first === '{' && assignment.isTight) {
    const found = findValue(text, from + 1, '}', { kind });
    return found !== undefined && /\d/.test(text.slice(found.start, found.end)) ? found : undefined;
  }
  return findValue(text, from, quote, assignment);
}

/** Whether it is a variable of code, whose value may be another. */
function isDeclared(text: string, start: number): boolean {
  return /\b(?:const|let|var) $/.test(text.slice(Math.max(0, start - 7), start));
}

/** `-Password`, as PowerShell and Java have it. */
function isFlag(text: string, start: number): boolean {
  return text.charAt(start) === '-' && text.charAt(start + 1) !== '-' && /\s/.test(text.charAt(start - 1));
}

/** `ENV DB_PASSWORD x`, `setx API_KEY x`, `set -gx API_KEY x`, on a line of its own or in a sentence. */
function isStatement(text: string, start: number): boolean {
  return /(?:^|\\[nrt]|[^\w.-])(?:ENV|ARG|(?:setx|SETX)(?: \/[mM])?|setenv|set(?: --?[a-zA-Z]{1,9}){1,2}) {1,4}$/.test(
    text.slice(Math.max(0, start - 32), start),
  );
}

/** `os.Setenv("API_KEY", ...)`, `set_var`, `SetEnvironmentVariable`, `setProperty("db.password", ...)`. */
function isSetter(text: string, start: number, end: number): boolean {
  return (
    /^(?:[A-Z][A-Z\d_]*|\w+(?:\.\w+)+)$/.test(text.slice(start, end)) &&
    /(?:^|[^a-zA-Z])(?:set|put)\w{0,24}\(\s?\\{0,7}["'`]$/i.test(text.slice(Math.max(0, start - 40), start))
  );
}

/** What stands after an option in its description. */
const NO_VALUE =
  /^(?:option|flag|argument|param(?:eter)?|instead|authentication|prompt|stdin|file|string|value|name|PASSWORD|to|or|and|from|if|for|is|in|with|when|because|which|that|does|must|should)\b/i;

/** Whether a word without digits is the argument of an option. */
function isArgument(text: string, start: number, from: number): boolean {
  const value = text.slice(from, from + 130);
  return (
    !NO_VALUE.test(value) &&
    /^["']?[a-z][a-z\d!@#$%^*+./=~-]{5,127}["']?(?:\s|$)/.test(value) &&
    isCommand(text, start)
  );
}

/** Whether a line looks like a command up to an option: no sentence before it. */
function isCommand(text: string, start: number): boolean {
  const near = text.slice(Math.max(0, start - 200), start);
  const words = near
    .slice(near.lastIndexOf('\n') + 1)
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

/** Whether it is the name of a variable of the environment. */
function isUpperCase(name: string): boolean {
  return /^[A-Z][A-Z\d_]*$/.test(name);
}

/** Whether a word is all of a value, not the beginning of an expression. */
function isWhole(text: string, from: number): boolean {
  return /^[^\s"'`(),;&\\]{6,128}(?:[\s"'`;&\\]|$)/.test(text.slice(from, from + 130));
}

/** Lines of settings up to a name: under `env:` and its like, or in a section of a file with `=`. */
const SETTINGS: Readonly<Record<string, RegExp>> = {
  ':': settingsUnder('(?:\\b|\\\\[nrt])(?:env|environment|stringData):', ':'),
  '=': settingsUnder(`(?:^|["'\`]|${NEW_LINE})\\[[\\w.-]{1,40}\\]`, '='),
};

function settingsUnder(head: string, sign: string): RegExp {
  const rest = `(?:[^\\r\\n\\\\]|\\\\{1,7}["'])*`;
  return new RegExp(`${head}(?:${NEW_LINE}[ \\t]*[\\w.-]{1,64}[ \\t]*${sign}${rest})*${NEW_LINE}[ \\t]*$`);
}

function isSetting(text: string, start: number, operator: string | undefined): boolean {
  return SETTINGS[operator ?? '']?.test(text.slice(Math.max(0, start - 400), start)) === true;
}

const TOLD = /["'`*]{0,2} (?:is|was):? ["'`*]{0,2}/y;
const TOLD_VALUE = /[^\s"'`<>,;(){}[\]|]{6,512}/y;

/** What a sentence says the secret is: `The password is ...`. */
function findTold(text: string, { start: nameStart, end, kind }: Name): Find | undefined {
  TOLD.lastIndex = end;
  if (!TOLD.test(text)) return undefined;
  const start = TOLD.lastIndex;
  TOLD_VALUE.lastIndex = start;
  const value = TOLD_VALUE.exec(text)?.[0].replace(/[.!?:]+$/, '');
  if (value === undefined || isPlaceholder(value) || isSecretName(value) || !isTelling(value, kind))
    return undefined;
  if (value.length < 8 && !/pass|pwd/i.test(text.slice(nameStart, end))) return undefined;
  return { start, end: start + value.length, kind: 'secret' };
}
