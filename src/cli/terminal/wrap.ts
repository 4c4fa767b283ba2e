/**
 * Breaks text into lines of at most `width` characters, at spaces where there are any; blank lines stay. Only the
 * first `maxLines` are made, so that a text of any length costs no more than what is shown.
 *
 * @returns the lines, and how many characters were left out after them.
 */
export function wrapLines(
  text: string,
  width: number,
  maxLines: number,
): { readonly lines: readonly string[]; readonly left: number } {
  const lines: string[] = [];
  let at = 0;
  while (at < text.length && lines.length < maxLines) {
    const end = lineEnd(text, at, width);
    lines.push(text.slice(at, end).trimEnd());
    at = end;
    if (text[at] === '\n' || text[at] === ' ') at += 1;
  }
  return { lines, left: text.length - at };
}

/** Where the line that starts at `from` ends: at a line feed, at the last space that fits, or at its full width. */
function lineEnd(text: string, from: number, width: number): number {
  const piece = text.slice(from, from + width + 1);
  const feed = piece.indexOf('\n');
  if (feed >= 0) return from + feed;
  if (piece.length <= width) return text.length;
  const space = piece.lastIndexOf(' ');
  if (space > width / 3) return from + space;
  // No half of a surrogate pair.
  const code = text.charCodeAt(from + width - 1);
  return from + (code >= 0xd800 && code < 0xdc00 && width > 1 ? width - 1 : width);
}
