/** Names of secrets: of variables, JSON keys, headers, parameters, options, columns and labels, in many languages. */
import { fold, isInvisible } from './fold.ts';

/**
 * `strong`: any value under the name is secret. `weak`: the name is used for other things too. `faint`: only a value that
 * looks like a secret is one. `header`: the value may have several words.
 */
export type NameKind = 'strong' | 'weak' | 'faint' | 'header';

/** Words for a password, without accents, spaces and signs. */
const FOREIGN_WORDS = (
  'contrasena contrasenya motdepasse paroladordine mdp passwort kennwort wachtwoord adgangskode passord losenord salasana jelszo ' +
  'heslo haslo senha palavrapasse sifre lozinka geslo slaptazodis matkhau пароль пароля гасло лозинка секрет ' +
  'κωδικος συνθηματικο סיסמה 密码 密碼 口令 密钥 パスワード 暗証番号 비밀번호 암호 패스워드 كلمةالمرور كلمةالسر รหัสผ่าน पासवर्ड'
).split(' ');

/** Made when a name is first looked at: most programs that load this never do. */
let tables: { readonly foreign: ReadonlySet<string>; readonly strong: RegExp } | undefined;

function makeTables(): NonNullable<typeof tables> {
  const foreign = new Set(FOREIGN_WORDS.map(folded));
  const foreignEnds = [...foreign].filter((word) => /[^a-z]/.test(word));
  return { foreign, strong: new RegExp(`(?:${[...STRONG, ...foreignEnds].join('|')})$`) };
}

/** Words at the end of a name, written in one, whose value is secret. */
const STRONG: readonly string[] = [
  'passw(?:or)?ds?|passphrase|passcode|pwd|pswd|passwrd|requirepass|presharedkey',
  'secret(?:key|string|value|text|accesskey)?',
  '(?:api|app|application|access|auth|account|admin|client|encryption|licen[sc]e|master|private|service|session|sharedaccess|shared|signing|storage|ssh|webhook|hmac|jwt|deploy|recovery)key(?:base64|pem|data)?',
  '(?:access|api|app|auth|bearer|bot|client|csrf|deploy|jwt|login|oauth|private|refresh|security|service|session|user|xsrf|webhook|registration|job|runner|github|gitlab|npm|slack|vault)token',
  'devicecode|mnemonic|seedphrase|seedwords|recoveryphrase|recoverywords|(?:recovery|backup|scratch)codes?',
];

/** Most characters of such an end. */
const LONGEST_END = 32;

/** Names that are no such word's end in another. */
const WHOLE = new Set(
  'pw psk pword idtoken dbpass userpass mysqlpass smtppass ftppass authpass phpsessid jsessionid aspsessionid'.split(
    ' ',
  ),
);

const WEAK = /(?:token|credentials?|auth|jwt|creds?|(?:api|access|secret|private)(?:key|token)?s)$/;

const FAINT = new Set('clave parola pin otp passe parool'.split(' '));

/** What follows the word in a name: `password_confirmation`, `new_password2`, `api_key_value`. */
const ENDING =
  /(?<=.{4})(?:\d{1,2}|value|confirmation|confirm|again|repeat|plain|plaintext|cleartext|env|b64|base64)$/;

/** First parts of names that hold positions, counts and marks: `next_page_token`, `progressToken`, `eos_token`. */
const HARMLESS = new Set(
  (
    'next prev previous page paging continuation sync skip delta cursor resume progress change max min num stop eos bos ' +
    'pad cls unk sep mask special first last start end per total input output prompt completion cached reasoning ' +
    'unexpected turn public is has no with without'
  ).split(' '),
);

const HARMLESS_IN_ONE = new RegExp(
  `^(?:${[...HARMLESS].join('|')})(?:page)?(?:tokens?|keys?|auth|passwords?|secrets?|cookie)$`,
);

/** Words of those that go before a password as well. */
const BEFORE_PASSWORD = Object.fromEntries(
  'next prev previous first last start end input sync change special'.split(' ').map((word) => [word, true]),
);

/** Kinds of names seen lately. */
const known = new Map<string, NameKind | null>();

/** What the name of a value says about it. */
export function nameKind(name: string): NameKind | undefined {
  if (name.length < 2) return undefined;
  if (name.length > 64) return kindOf(name.slice(-64));
  let kind = known.get(name);
  if (kind === undefined) {
    if (known.size >= 2_000) known.clear();
    kind = kindOf(name) ?? null;
    known.set(name, kind);
  }
  return kind ?? undefined;
}

function kindOf(name: string): NameKind | undefined {
  const words = wordsOf(name);
  let whole = words.join('');
  for (let round = 0; round < 2 && ENDING.test(whole); round += 1) {
    whole = whole.replace(ENDING, '');
    if (words.length > 1) words.pop();
  }
  const last = words.at(-1) ?? '';
  if (last === 'authorization' || last === 'cookie' || whole === 'setcookie') return 'header';
  const kind = wordsKind(words, whole, last);
  if (kind === undefined || HARMLESS_IN_ONE.test(whole)) return undefined;
  const before = words.at(-2) ?? '';
  return HARMLESS.has(before) && !(before in BEFORE_PASSWORD && /pass/.test(whole)) ? undefined : kind;
}

function wordsKind(words: readonly string[], whole: string, last: string): NameKind | undefined {
  if (last === 'pass') return words.length > 1 ? 'strong' : 'weak';
  tables ??= makeTables();
  const { foreign, strong } = tables;
  if (
    WHOLE.has(whole) ||
    last === 'pw' ||
    foreign.has(last) ||
    foreign.has(whole) ||
    strong.test(whole.slice(-LONGEST_END))
  )
    return 'strong';
  if (WEAK.test(whole) && last !== 'oauth') return 'weak';
  return FAINT.has(last) ? 'faint' : undefined;
}

/** The words of a name in lower case: `dbPassword`, `DB_PASSWORD` and `db.password` have the same. */
function wordsOf(name: string): string[] {
  let plain = fold(name.includes('\\u') ? unescaped(name) : name);
  if (/[^\0-\x7f]/.test(plain))
    plain = [...plain].filter((char) => !isInvisible(char.charCodeAt(0))).join('');
  return plain
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_.\-'[\]]+/)
    .filter((word) => word !== '');
}

const unescaped = (name: string): string =>
  name.replace(/\\{1,4}u([\da-fA-F]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );

function folded(word: string): string {
  return fold(word).toLowerCase();
}

/** What announces a name in another language: each at least three characters. */
export function foreignStarts(): string[] {
  const starts = ['khau', 'المرور', 'السر', 'clave', 'parol'];
  for (const word of FOREIGN_WORDS) {
    if (/^[a-z]/.test(word)) {
      starts.push(word.slice(0, 5));
      continue;
    }
    const seen = folded(word);
    starts.push(...(seen.length > 2 ? [seen] : [...':"\'= |<,*`\t'].map((next) => seen + next)));
    // As JSON may write it.
    starts.push([...word].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''));
  }
  return starts;
}
