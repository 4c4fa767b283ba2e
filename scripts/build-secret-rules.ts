/**
 * Converts the rules of gitleaks, which its maintainers keep up with the tokens that vendors issue, to
 * `src/json/redact/gitleaks-rules.ts`. Run it with a newer `config/gitleaks.toml` of https://github.com/gitleaks/gitleaks:
 *
 *     npm run build && node dist/scripts/build-secret-rules.js gitleaks.toml <commit>
 *
 * Taken over are tokens that begin with a literal of their vendor. The other rules (values after a vendor's name, any
 * API key, `curl`, Kubernetes manifests, file names) suit source files rather than conversations, or are covered by the
 * rules of the room.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'smol-toml';

interface GitleaksRule {
  readonly id: string;
  readonly regex?: string;
  readonly keywords?: readonly string[];
}

/** Public by purpose, not specific enough for prose, or covered by a rule of this package. */
const LEFT_OUT =
  /client-id$|access-id$|pub-?key|pub-api-key|public-key|browser-api|user-api-id|^(?:curl|generic|jwt|kubernetes|private-key|sidekiq|nuget|freemius|hashicorp-tf-password|facebook-access|linkedin|confluent-access|dropbox-api-token|sourcegraph|vault-service|mapbox|openai|cisco|twilio|harness)/;

/** Keywords of gitleaks that stand elsewhere in a text than where the token begins. */
const NO_START: ReadonlySet<string> = new Set(['airtable', 'cloudflare', 'intra', '_mmk']);

/** What gitleaks puts before and behind the form of a value and of a token (cmd/generate/config/utils/generate.go). */
const BETWEEN = String.raw`[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(`;
const END = String.raw`)(?:[\x60'"\s;]|\\[nr]|$)`;

const [path, commit] = process.argv.slice(2);
if (path === undefined || commit === undefined) throw new Error('Usage: build-secret-rules.js FILE COMMIT');
const { rules } = parse(readFileSync(path, 'utf8')) as unknown as { readonly rules: readonly GitleaksRule[] };

const tokens: string[] = [];
const taken = new Set<string>();
for (const { id, regex, keywords = [] } of rules) {
  if (regex === undefined || LEFT_OUT.test(id)) continue;
  if (regex.includes(BETWEEN)) continue;
  const token = regex.replace(END, String.raw`)(?![\w-])`).replaceAll(String.raw`\z`, '$');
  const pattern = toJavaScript(token);
  for (const keyword of keywords) {
    if (NO_START.has(keyword)) continue;
    const start = startOf(pattern, keyword);
    if (start === undefined) process.stderr.write(`${id}: '${keyword}' does not begin it: left out\n`);
    else {
      taken.add(id);
      tokens.push(`  [${quote(start)}, ${quote(pattern)}],`);
    }
  }
}

const target = fileURLToPath(new URL('../../src/json/redact/gitleaks-rules.ts', import.meta.url));
writeFileSync(
  target,
  `/**
 * Made by scripts/build-secret-rules.ts from config/gitleaks.toml of gitleaks (https://github.com/gitleaks/gitleaks,
 * commit ${commit}): do not edit. Rules: Copyright (c) 2019 Zachary Rice, MIT License.
 */

/** Literal a token begins with, in lower case, and the form of the whole token. */
export const gitleaksTokens = (): readonly (readonly [start: string, form: string])[] => [
${[...new Set(tokens)].join('\n')}
];
`,
);
process.stdout.write(`${target}: ${taken.size} of ${rules.length} rules\n`);

/** The keyword, if tokens begin with it: the pattern accepts it as the first letters after an optional group or `\b`. */
function startOf(pattern: string, keyword: string): string | undefined {
  const plain = pattern
    .replaceAll(/\[([a-z])[A-Z]\]/g, '$1')
    .replaceAll('\\.', '.')
    .toLowerCase();
  const at = plain.indexOf(keyword.toLowerCase());
  const before = plain.slice(0, Math.max(at, 0));
  const isFirst =
    at === -1 ? /^(?:\\b)?\((?:\(?\?:)?/.test(plain) : /^(?:\\b|\(|\?:|[a-z0-9_|[\]{}.-])*$/.test(before);
  return isFirst ? keyword.toLowerCase() : undefined;
}

/**
 * RE2 to ECMAScript. Flags in the middle of a pattern, which Node 20 does not know, are written out: in the scope of
 * `(?i)` each letter becomes a class of both cases.
 */
function toJavaScript(pattern: string): string {
  let out = '';
  let ignoresCase = false;
  const scopes: boolean[] = [];
  let inClass = false;
  for (let at = 0; at < pattern.length; at += 1) {
    const rest = pattern.slice(at);
    const flag = /^\(\?(-?)([is])([:)])/.exec(rest);
    const escaped = /^\\(?:x[0-9a-f]{2}|.)/i.exec(rest);
    const range = /^([a-z])-([a-z])/i.exec(rest);
    const char = pattern.charAt(at);
    if (inClass) {
      if (rest.startsWith('[:alnum:]')) {
        out += 'a-zA-Z0-9';
        at += 8;
      } else if (escaped !== null) {
        out += escaped[0];
        at += escaped[0].length - 1;
      } else if (range !== null) {
        out += ignoresCase ? `${range[0].toLowerCase()}${range[0].toUpperCase()}` : range[0];
        at += 2;
      } else {
        out += ignoresCase && /[a-z]/i.test(char) ? `${char.toLowerCase()}${char.toUpperCase()}` : char;
        inClass = char !== ']';
      }
    } else if (flag !== null) {
      if (flag[3] === ':') {
        scopes.push(ignoresCase);
        out += '(?:';
      }
      if (flag[2] === 'i') ignoresCase = flag[1] === '';
      at += flag[0].length - 1;
    } else if (escaped !== null) {
      out += escaped[0];
      at += escaped[0].length - 1;
    } else if (char === '(') {
      scopes.push(ignoresCase);
      const isGroup = rest.startsWith('(?');
      out += isGroup ? '(?' : '(?:';
      if (isGroup) {
        out += pattern.charAt(at + 2);
        at += 2;
      }
    } else {
      if (char === ')') ignoresCase = scopes.pop() ?? false;
      if (char === '[') inClass = true;
      out += ignoresCase && /[a-z]/i.test(char) ? `[${char.toLowerCase()}${char.toUpperCase()}]` : char;
    }
  }
  new RegExp(out);
  return out;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
