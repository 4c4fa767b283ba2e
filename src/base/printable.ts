/** Letters that a joiner changes the shape of (Arabic to Indic scripts), and emoji, which it combines. */
const JOINED = '[\\u0600-\\u1cff\\ufe0f\\p{Extended_Pictographic}\\p{Emoji_Modifier}]';

/** Control, bidirectional and invisible characters and separators, except for \n, \t, emoji styles and needed joiners. */
const UNPRINTABLE = new RegExp(
  `(?![\\n\\t\\ufe0e\\ufe0f]|(?<=${JOINED})[\\u200c\\u200d](?=${JOINED}))` +
    '[\\p{Cc}\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\p{Zl}\\p{Zp}]',
  'gu',
);

/**
 * Makes untrusted text safe to print: characters that control a terminal, reorder text or cannot be seen are escaped as
 * JSON does (`\u001b`, `\u202e`), so that JSON keeps its meaning. Line feeds and tabs stay; `\r\n` becomes `\n`.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNPRINTABLE, escaped);
}

/** Like {@link printable}, on one line: line feeds and tabs are escaped too, so that no text can pose as a line of ours. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
