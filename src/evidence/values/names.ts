/** Names in a text: addresses, paths, identifiers, versions. */
export interface NamedThing {
  readonly start: number;
  readonly end: number;
  /** In lower case. */
  readonly text: string;
  readonly kind: 'place' | 'id';
}

const PLACE =
  /https?:\/\/[^\s"'<>|`*)\]，。]{3,300}|(?<![\w/.])(?:~|\.{1,2})?\/(?:[\w.@+-]{1,80}\/){1,12}[\w.@+-]{1,80}|[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{2,20}){1,3}/g;
/** Words of letters and digits, and digits by signs: `W5512`, `OPS-101`, `v3.14.2`, `3RK2T9`, `4521887`, `#482`. */
const ID =
  /#?(?<![\p{L}\p{N}_.,:/-])(?=[\w.-]{0,40}\d)[A-Za-z0-9]{1,40}(?:[-._][A-Za-z0-9]{1,30}){0,5}(?![\p{L}\p{N}_]|[-/:][\p{L}\p{N}])/gu;
/** A number in groups: of a phone, of an account. */
const IN_GROUPS = /\+?[A-Z]{0,4}\d[\dA-Z]{0,12}(?:[ -]\d[\dA-Z]{0,12}){2,9}(?!\w)/g;
const MIN_GROUPED = 8;
const A_DAY = /^(?:19|20)\d\d-[01]\d-[0-3]\d/;
const MAX_NAMES = 64;

/** The names in a text, places first; an identifier inside a place is none of its own. */
export function namesIn(text: string): readonly NamedThing[] {
  const names: NamedThing[] = [];
  let rest = text;
  const take = (index: number, name: string, kind: NamedThing['kind']) => {
    names.push({ start: index, end: index + name.length, text: name.toLowerCase(), kind });
    rest = `${rest.slice(0, index)}${' '.repeat(name.length)}${rest.slice(index + name.length)}`;
  };
  for (const { 0: place, index } of text.matchAll(PLACE))
    if (names.length < MAX_NAMES) take(index, place.replace(/[.,;:!?…]+$/, ''), 'place');
  for (const { 0: groups, index } of rest.matchAll(IN_GROUPS))
    if (names.length < MAX_NAMES && groups.length >= MIN_GROUPED && !A_DAY.test(groups))
      take(index, groups, 'id');
  for (const match of rest.matchAll(ID)) {
    if (names.length >= MAX_NAMES) break;
    const [id] = match;
    if (isName(id))
      names.push({ start: match.index, end: match.index + id.length, text: id.toLowerCase(), kind: 'id' });
  }
  return names;
}

const MEASURED = /^\d+(?:[.,]\d+)?[a-z%°]{0,3}$/i;
const DATED =
  /^\d{4}-\d{2}(?:-\d{2})?(?:T.*)?$|^\d{1,2}\.\d{1,2}(?:\.\d{2,4})?$|^\d{1,2}(?:st|nd|rd|th)$|^[a-z]{3,5}-\d{3}0s$/i;
/** A number with a unit, a date, a decimal or a span ("3-5") is a figure, not a name. */
const isName = (id: string): boolean => {
  if (id.startsWith('#')) return id.length > 2;
  if (/^\d{6,}$/.test(id)) return true;
  if (/^\d{1,4}-\d{1,4}[a-z]{0,3}$/i.test(id) || DATED.test(id) || MEASURED.test(id)) return false;
  // "960x540", "4h18m", "base64"
  if (/^(?:\d{1,5}x\d{1,5}|\d{1,3}h\d{1,2}m?|[a-z]{3,}\d{1,3})$/.test(id)) return false;
  if (/^\d+(?:\.\d+){2,}/.test(id)) return true;
  return /[A-Za-z]/.test(id) && /\d/.test(id) && id.length >= 4 && !/^\d{1,4}-[a-z]+/i.test(id);
};

/** A name as it may be written otherwise: without signs. */
export const bareName = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '');
