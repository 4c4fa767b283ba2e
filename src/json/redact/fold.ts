/**
 * Letters and signs that look like those of ASCII, as those: full-width forms, Cyrillic and Greek twins, letters with
 * accents, typographic quotes and spaces. Each character becomes one, so that places in the outcome are places in the text.
 */

let table: Uint16Array | undefined;

/** Characters folded at once. */
const CHUNK = 65_536;

/** The text as it looks, of the same length; the same string if it is ASCII. */
export function fold(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text;
  table ??= makeTable();
  let out = '';
  for (let from = 0; from < text.length; from += CHUNK) {
    const piece = text.slice(from, from + CHUNK);
    const codes = new Uint16Array(piece.length);
    for (let at = 0; at < piece.length; at += 1) codes[at] = table[piece.charCodeAt(at)] as number;
    out += Buffer.from(codes.buffer).toString('utf16le');
  }
  return out;
}

const TWINS: readonly (readonly [looksLike: string, these: string])[] = [
  ['aceopxyisjhkACEOPXYISJHK', 'асеорхуіѕјһкАСЕОРХУІЅЈҺК'],
  ['aoipkAOIPK', 'αοιρκΑΟΙΡΚ'],
  ['loihdts', 'łøıħđŧß'],
  [`""""''''--------:::=||`, '“”„‟‘’‚‛‐‑‒–—―−﹣∶꞉﹕→│┃'],
  ['""', '«»'],
];

function makeTable(): Uint16Array {
  const codes = Uint16Array.from({ length: 65_536 }, (_, code) => code);
  for (const [from, to] of [
    [0xc0, 0x24f],
    [0x1e00, 0x1eff],
  ] as const) {
    for (let code = from; code <= to; code += 1) {
      const base = String.fromCharCode(code).normalize('NFD').charCodeAt(0);
      if (base < 0x80) codes[code] = base;
    }
  }
  for (let code = 0xff01; code <= 0xff5e; code += 1) codes[code] = code - 0xfee0;
  for (const space of [0xa0, 0x202f, 0x205f, 0x3000]) codes[space] = 0x20;
  for (let code = 0x2000; code <= 0x200a; code += 1) codes[code] = 0x20;
  for (const [plain, twins] of TWINS) {
    for (let at = 0; at < plain.length; at += 1) codes[twins.charCodeAt(at)] = plain.charCodeAt(at);
  }
  return codes;
}

/** Signs without width, which may occur between the letters of a name. */
export const isInvisible = (code: number): boolean =>
  code === 0xad ||
  (code >= 0x200b && code <= 0x200f) ||
  (code >= 0x2060 && code <= 0x2064) ||
  code === 0xfeff ||
  (code >= 0x300 && code <= 0x36f);
