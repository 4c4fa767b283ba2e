/** `String.prototype.isWellFormed`: in Node 20, not in TypeScript's ES2023 library. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

/** Replaces a character that cannot be stored. */
export const REPLACEMENT = '\ufffd';

/** Text that Postgres accepts: each NUL and lone surrogate becomes U+FFFD. */
export function cleanText(text: string): string {
  const wellFormed = text as string & WellFormed;
  const clean = wellFormed.isWellFormed() ? text : wellFormed.toWellFormed();
  return clean.includes('\0') ? clean.replaceAll('\0', REPLACEMENT) : clean;
}

/** The first UTF-16 units of a text, without splitting a surrogate pair. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const last = text.charCodeAt(maxChars - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? maxChars - 1 : maxChars);
}
