/** Names of secrets: of variables, JSON keys, headers, parameters and options. */

/**
 * `strong`: any value under the name is secret. `weak`: the name is used for other things too. `header`: the value may
 * have several words.
 */
export type NameKind = 'strong' | 'weak' | 'header';

/** Words at the end of a name, written in one, whose value is secret. */
export const STRONG_ENDS: readonly string[] = [
  'passw(?:or)?ds?|passphrase|passcode|pwd|pswd|passwrd|requirepass|presharedkey',
  'secret(?:key|string|value|text|accesskey)?',
  '(?:api|app|application|access|auth|account|admin|client|encryption|licen[sc]e|master|private|service|session|sharedaccess|shared|signing|storage|ssh|webhook|hmac|jwt|deploy|recovery)key(?:base64|pem|data)?',
  '(?:access|api|app|auth|bearer|bot|client|csrf|deploy|jwt|login|oauth|private|refresh|security|service|session|user|xsrf|webhook|registration|job|runner|github|gitlab|npm|slack|vault)token',
  'privatekeyid|devicecode|mnemonic|seedphrase|seedwords|recoveryphrase|recoverywords|(?:recovery|backup|scratch)codes?',
];

const STRONG = new RegExp(`(?:${STRONG_ENDS.join('|')})$`);

/** Most characters of such an end. */
const LONGEST_END = 32;

/** Names that are no such word's end in another. */
const WHOLE = new Set(
  'pw psk idtoken dbpass userpass mysqlpass smtppass ftppass authpass phpsessid jsessionid aspsessionid'.split(
    ' ',
  ),
);

const WEAK = /(?:token|credentials?|auth|jwt|creds?|(?:api|access|secret|private)(?:key|token)?s)$/;

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

const known = new Map<string, NameKind | null>();

/** What the name of a value says about it. */
export function nameKind(name: string): NameKind | undefined {
  if (name.length < 2) return undefined;
  if (name.length > 64) return findKind(name.slice(-64));
  let kind = known.get(name);
  if (kind === undefined) {
    if (known.size >= 2_000) known.clear();
    kind = findKind(name) ?? null;
    known.set(name, kind);
  }
  return kind ?? undefined;
}

function findKind(name: string): NameKind | undefined {
  const words = splitWords(name);
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
  if (WHOLE.has(whole) || last === 'pw' || STRONG.test(whole.slice(-LONGEST_END))) return 'strong';
  return WEAK.test(whole) && last !== 'oauth' ? 'weak' : undefined;
}

/** The words of a name in lower case: `dbPassword`, `DB_PASSWORD` and `db.password` have the same. */
function splitWords(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_.\-'[\]]+/)
    .filter((word) => word !== '');
}
