/** Control characters and bidirectional marks. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}]/gu;

/**
 * Makes untrusted text safe to print on a terminal: characters that move the cursor, set colors, ring the bell or
 * reorder text are escaped as `\x1b` or `\u202e`. Tabs become spaces; line feeds stay.
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
