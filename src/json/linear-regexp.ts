/**
 * Regular expressions of schemas, run in linear time.
 *
 * A tool's schema comes from its server, so its patterns are attacker input: `^(a+)+$` holds V8's backtracking engine
 * for seconds on 28 characters, and no timeout can stop it. They run on RE2's automaton instead. A pattern that an
 * automaton cannot run (lookaround, back references) is refused at compile time, together with its tool.
 *
 * RE2's dialect differs from ECMAScript's in the meaning of `.`, `\s` and some escapes; {@link toRe2} rewrites these so
 * that a pattern means here what it means in JSON Schema.
 */
import { createRequire } from 'node:module';

interface Re2Pattern {
  test(text: string): boolean;
}

interface Re2Module {
  readonly RE2JS: { compile(pattern: string): Re2Pattern };
}

/** Longest pattern that is compiled, in UTF-16 units. */
const MAX_PATTERN = 2_048;

/** White space of ECMAScript's `\s`: ECMA-262 section 12.2 and 12.3 (White Space, Line Terminators). */
const SPACE =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';
/** Everything else, for `\S` inside a class. */
const NOT_SPACE =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';

/**
 * What an automaton surely runs: no look-around, back reference, named group or count. It is made when it is first asked, since
 * to load what makes it takes longer than to read a policy.
 */
const SURE = /^(?:[^\\({[]|\\[^\dkpPuxc]|\[(?:[^\]\\]|\\[^\dkpPuxc])*\]|\((?:\?:)?(?!\?))*$/;

let re2: Re2Module | undefined;

/**
 * Compiles an ECMAScript pattern to an automaton.
 * @throws SyntaxError when the pattern is not ECMAScript, too long, or needs backtracking.
 */
export function compileLinear(pattern: string): Re2Pattern {
  if (pattern.length > MAX_PATTERN) {
    throw new SyntaxError(
      `The pattern has ${pattern.length} characters; at most ${MAX_PATTERN} are compiled`,
    );
  }
  new RegExp(pattern, 'u');
  if (!SURE.test(pattern)) return toAutomaton(pattern);
  let made: Re2Pattern | undefined;
  return {
    test(text) {
      made ??= toAutomaton(pattern);
      return made.test(text);
    },
  };
}

function toAutomaton(pattern: string): Re2Pattern {
  re2 ??= createRequire(import.meta.url)('re2js') as Re2Module;
  try {
    return re2.RE2JS.compile(toRe2(pattern));
  } catch (cause) {
    throw new SyntaxError(`The pattern ${JSON.stringify(pattern.slice(0, 80))} cannot run in linear time`, {
      cause,
    });
  }
}

/** Rewrites a valid ECMAScript pattern (flag `u`) for RE2. */
export function toRe2(pattern: string): string {
  let out = '';
  let inClass = false;
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    if (char === '\\') {
      const [text, length] = rewriteEscape(pattern, at, inClass);
      out += text;
      at += length - 1;
    } else if (inClass) {
      // A bare '[' in a class is a literal in ECMAScript and may open a POSIX class in RE2.
      out += char === '[' ? '\\[' : char;
      if (char === ']') inClass = false;
    } else if (char === '[') {
      const isNegated = pattern.charAt(at + 1) === '^';
      const first = pattern.charAt(at + (isNegated ? 2 : 1));
      if (first === ']') {
        // `[]` matches nothing and `[^]` everything; RE2 reads both as an unclosed class.
        out += isNegated ? '[\\x{0}-\\x{10ffff}]' : '[^\\x{0}-\\x{10ffff}]';
        at += isNegated ? 2 : 1;
      } else {
        inClass = true;
        out += isNegated ? '[^' : '[';
        at += isNegated ? 1 : 0;
      }
    } else if (char === '.') {
      out += '[^\\n\\r\\x{2028}\\x{2029}]';
    } else if (pattern.startsWith('(?<', at) && !/[=!]/.test(pattern.charAt(at + 3))) {
      out += '(?P<';
      at += 2;
    } else {
      out += char;
    }
  }
  return out;
}

/** Rewrites the escape at `at`: the RE2 text and how many characters of the pattern it stands for. */
function rewriteEscape(pattern: string, at: number, inClass: boolean): readonly [string, number] {
  const kind = pattern.charAt(at + 1);
  switch (kind) {
    case 's':
      return [inClass ? SPACE : `[${SPACE}]`, 2];
    case 'S':
      return [inClass ? NOT_SPACE : `[^${SPACE}]`, 2];
    case 'c':
      return [codePoint(pattern.charCodeAt(at + 2) % 32), 3];
    case '0':
      return [codePoint(0), 2];
    case 'b':
      return inClass ? [codePoint(8), 2] : ['\\b', 2];
    case '/':
    case '-':
      return [kind === '-' ? '\\-' : '/', 2];
    case 'u':
      return rewriteUnicode(pattern, at);
    case 'p':
    case 'P':
      return rewriteProperty(pattern, at);
    case 'x':
      return [codePoint(Number.parseInt(pattern.slice(at + 2, at + 4), 16)), 4];
    default:
      return [`\\${kind}`, 2];
  }
}

function rewriteUnicode(pattern: string, at: number): readonly [string, number] {
  if (pattern.charAt(at + 2) === '{') {
    const end = pattern.indexOf('}', at);
    return [codePoint(Number.parseInt(pattern.slice(at + 3, end), 16)), end + 1 - at];
  }
  const high = Number.parseInt(pattern.slice(at + 2, at + 6), 16);
  const isPair = high >= 0xd800 && high <= 0xdbff && pattern.startsWith('\\u', at + 6);
  if (!isPair) return [codePoint(high), 6];
  const low = Number.parseInt(pattern.slice(at + 8, at + 12), 16);
  if (low < 0xdc00 || low > 0xdfff) return [codePoint(high), 6];
  return [codePoint((high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000), 12];
}

/** `\p{General_Category=Letter}`, `\p{Script=Greek}` and long names, in the short form RE2 knows. */
function rewriteProperty(pattern: string, at: number): readonly [string, number] {
  const end = pattern.indexOf('}', at);
  const name = pattern.slice(at + 3, end);
  const value = name.slice(name.indexOf('=') + 1);
  const sign = pattern.charAt(at + 1);
  return [`\\${sign}{${CATEGORIES.get(value) ?? value}}`, end + 1 - at];
}

/** Long names of general categories: Unicode PropertyValueAliases.txt, gc. */
const CATEGORIES: ReadonlyMap<string, string> = new Map(
  (
    'Letter=L Cased_Letter=LC Uppercase_Letter=Lu Lowercase_Letter=Ll Titlecase_Letter=Lt Modifier_Letter=Lm ' +
    'Other_Letter=Lo Mark=M Combining_Mark=M Nonspacing_Mark=Mn Spacing_Mark=Mc Enclosing_Mark=Me Number=N ' +
    'Decimal_Number=Nd digit=Nd Letter_Number=Nl Other_Number=No Punctuation=P punct=P Connector_Punctuation=Pc ' +
    'Dash_Punctuation=Pd Open_Punctuation=Ps Close_Punctuation=Pe Initial_Punctuation=Pi Final_Punctuation=Pf ' +
    'Other_Punctuation=Po Symbol=S Math_Symbol=Sm Currency_Symbol=Sc Modifier_Symbol=Sk Other_Symbol=So ' +
    'Separator=Z Space_Separator=Zs Line_Separator=Zl Paragraph_Separator=Zp Other=C Control=Cc cntrl=Cc ' +
    'Format=Cf Surrogate=Cs Private_Use=Co'
  )
    .split(' ')
    .map((pair) => pair.split('=') as [string, string]),
);

function codePoint(code: number): string {
  return `\\x{${code.toString(16)}}`;
}
