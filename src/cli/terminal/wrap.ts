/**
 * Wraps text at `width` characters, preferably at spaces; blank lines stay. Computes only the first `maxLines`, so the
 * cost does not grow with the text.
 *
 * @returns the lines, and the number of omitted characters.
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

/** End of the line that starts at `from`: a line feed, the last space that fits, or the full width. */
function lineEnd(text: string, from: number, width: number): number {
  const piece = text.slice(from, from + width + 1);
  const feed = piece.indexOf('\n');
  if (feed >= 0) return from + feed;
  if (piece.length <= width) return text.length;
  const space = piece.lastIndexOf(' ');
  if (space > width / 3) return from + space;
  // Do not split a surrogate pair.
  const code = text.charCodeAt(from + width - 1);
  return from + (code >= 0xd800 && code < 0xdc00 && width > 1 ? width - 1 : width);
}
