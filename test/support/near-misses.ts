/** Texts that have the form of a regular expression: what a finder has to look at longest before it gives up. */

/** One text that the form matches, with repeats of up to `most`. Assertions match nothing. */
export function sampleOf(source: string, most: number): string {
  let at = 0;

  function alternatives(): string {
    let first: string | undefined;
    for (;;) {
      const text = sequence();
      first ??= text;
      if (source[at] !== '|') return first;
      at += 1;
    }
  }

  function sequence(): string {
    let text = '';
    while (at < source.length && source[at] !== '|' && source[at] !== ')') text += repeated(atom());
    return text;
  }

  function atom(): string {
    const char = source[at] as string;
    at += 1;
    if (char === '(') return group();
    if (char === '[') return fromClass();
    if (char === '\\') return escaped(source[at++] as string);
    if (char === '.') return 'x';
    return char === '^' || char === '$' ? '' : char;
  }

  function group(): string {
    const [opening = ''] = /^\?(?::|<?[=!])/.exec(source.slice(at)) ?? [];
    at += opening.length;
    const text = alternatives();
    at += 1;
    return opening === '' || opening === '?:' ? text : '';
  }

  function fromClass(): string {
    let end = at;
    while (source[end] !== ']' || end === at) end += source[end] === '\\' ? 2 : 1;
    const form = new RegExp(source.slice(at - 1, end + 1));
    at = end + 1;
    return [...'a1A0x-_/ .:,+%=\t\n!'].find((char) => form.test(char)) ?? 'a';
  }

  function escaped(char: string): string {
    if (char === 'x') {
      at += 2;
      return '`';
    }
    return { b: '', B: '', d: '1', w: 'a', s: ' ', S: 'a', n: '\n', r: '\r', t: '\t' }[char] ?? char;
  }

  function repeated(text: string): string {
    const [whole = '', sign, least, comma, top] =
      /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at)) ?? [];
    at += whole.length;
    if (whole === '') return text;
    if (sign === '?') return text;
    const bound = sign !== undefined ? most : comma === '' ? Number(least) : Number(top || most);
    return text.repeat(Math.min(Math.max(bound, Number(least ?? 0)), Math.max(most, Number(least ?? 0))));
  }

  return alternatives();
}

/** What begins as the form wants it and then ends: short, long, without its last sign. */
export function nearMisses(source: string): readonly string[] {
  const long = sampleOf(source, 64);
  return [sampleOf(source, 1).slice(0, -1), long.slice(0, -1), long.slice(0, Math.ceil(long.length / 2))];
}
