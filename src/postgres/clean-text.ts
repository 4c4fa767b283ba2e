/** `String.prototype.isWellFormed`, which Node 20 has and the ES2023 library of TypeScript does not know. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

/** Stands for a character that cannot be stored. */
export const REPLACEMENT = '\ufffd';

/** Text as Postgres takes it: NUL and surrogates without their partner replaced by U+FFFD, one for one. */
export function cleanText(text: string): string {
  const wellFormed = text as string & WellFormed;
  const clean = wellFormed.isWellFormed() ? text : wellFormed.toWellFormed();
  return clean.includes('\0') ? clean.replaceAll('\0', REPLACEMENT) : clean;
}

/** The first UTF-16 units of a text, a pair of surrogates kept whole. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const last = text.charCodeAt(maxChars - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? maxChars - 1 : maxChars);
}
