import { printable } from '../../base/index.ts';

/** Longest answer, in characters: about 4,000 tokens. */
const MAX_CHARS = 14_000;

/** Lines as one text that fits a model's window; what does not fit is said, with how to get it. */
export function bounded(lines: readonly string[], how: string): string {
  let chars = 0;
  for (const [i, line] of lines.entries()) {
    chars += line.length + 1;
    if (chars > MAX_CHARS) {
      return [...lines.slice(0, i), `(${lines.length - i} more lines are left out; ${how})`].join('\n');
    }
  }
  return lines.join('\n');
}

/** A text of a traced program as one line: control and invisible characters are escaped, the end is cut off. */
export function oneLine(text: string, maxChars = 200): string {
  const line = printable(
    text
      .slice(0, 4 * maxChars)
      .replace(/\s+/gu, ' ')
      .trim(),
  );
  return line.length > maxChars ? `${line.slice(0, maxChars)}… (${text.length} characters)` : line;
}
