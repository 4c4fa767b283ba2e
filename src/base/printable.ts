/** Control characters, and the marks that change the order text is shown in. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}]/gu;

/**
 * Text of others made harmless for a terminal: what would move the cursor, set colors, ring, or show the text in
 * another order than it has is written as `\x1b` or `\u202e`. Tabs become spaces; line feeds stay.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNPRINTABLE, (char) => {
    if (char === '\n') return char;
    if (char === '\t') return '    ';
    const code = char.charCodeAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
