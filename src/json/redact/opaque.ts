/** Whether a value looks like a secret rather than like a word, a number, a placeholder or code. */

/** Words that stand where a secret would. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(
  `any api-key api_key apikey basic bearer bool boolean bytes changed default disabled dummy empty enabled example
  expired fake false function hidden int invalid key masked missing mock mocked n/a na nil no none null number object
  off omitted on optional pass passphrase passwd password placeholder pwd redacted removed required same sample secret
  secrets str string tbd test testing todo token true undefined unknown unused user username value void yes`.split(
    /\s+/,
  ),
);
const LONGEST_PLACEHOLDER = 12;

/** Forms of such words: `your-key`, `API_KEY`, `xxxx`, `sha-256`. */
const PLACEHOLDER_FORM =
  /^(?:oauth\d?|oauth2?[_-]\w{1,20}|not[-_ ](?:needed|set|used|required|provided)|\W+|x{3,}|(?:your|my|the|some|an?|insert|enter|replace)[-_ ].*|[a-z]+(?:_[a-z]+)+|(?:sha|md|hs|rs|es|aes|base|utf|ipv?|http|rfc|bcrypt|argon)-?\d{1,4}(?:-\w{1,8})?)$/i;

/** References to a variable, templates, masks. */
const REFERENCE =
  /^(?:[$%@#]?[{<[(].*[}>\])]$|[$%][A-Za-z_]|process\.env|os\.environ|secrets?\.|env\.|vault:|ref:|arn:)|\*{3}|\.{3}|…/;

const URL_OR_PATH = /^(?:\?|[a-z][a-z0-9+.-]{1,15}:\/\/|\.{0,2}\/|~\/|[A-Za-z]:[\\/])/i;

/** Numbers with units, dates, times, versions. */
const MEASURE = /^[v~<>≥≤+-]?\d[\d.,:/_-]*(?:[a-z%°]{1,4}|(?:T|Z)[\d:.Z+-]*)?$/i;

/** `config.auth.token2`, but not the three long parts of a JWT. */
const CODE_PATH = /^[A-Za-z_$][\w$]{0,24}(?:\??\.[A-Za-z_$][\w$]{0,24})+$/;

/** `OAuth2Client` */
const CAMEL_CASE = /^[A-Z]{0,3}[a-z]{0,20}(?:\d{0,2}[A-Z][a-z]{1,20}){1,8}$/;

/** Words that show a value in quotes to be a sentence. */
const PROSE =
  /(?:^|\s)(?:the|a|an|is|are|was|be|must|should|may|can|not|no|your|my|of|for|to|from|at|in|on|by|with|and|or|if|this|that|it|as)\s/i;

export function isPlaceholder(value: string): boolean {
  const isWord = value.length <= LONGEST_PLACEHOLDER && PLACEHOLDERS.has(value.toLowerCase());
  return isWord || PLACEHOLDER_FORM.test(value) || REFERENCE.test(value) || URL_OR_PATH.test(value);
}

/** Whether words are a sentence: `The user's password`, `must be at least twelve`. */
export function isProse(value: string): boolean {
  return /\s/.test(value) && (PROSE.test(`${value} `) || /^[A-Z][a-z']+\s[a-z]/.test(value));
}

/**
 * Whether a value has what words, numbers and code have not: a letter next to a digit, or a sign among letters.
 * @param least characters.
 */
export function isOpaque(value: string, least: number): boolean {
  const isPaired = hasPair(value);
  if (!isPaired && !isMixedRun(value)) return false;
  if (CAMEL_CASE.test(value)) return false;
  const bare = value.replace(/[.!?:]{1,3}$/, '');
  if (bare.length < least || isPlaceholder(bare) || MEASURE.test(bare) || CODE_PATH.test(bare)) return false;
  return bare === value || hasPair(bare) || isMixedRun(bare);
}

/** Whether a text is a long run of letters in mixed case that no identifier has. */
function isMixedRun(text: string): boolean {
  const length = Math.min(text.length, MAX_LOOKED_AT);
  if (length < 20) return false;
  let turns = 0;
  let before = 0;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 65 && code <= 90 && before >= 97 && before <= 122) turns += 1;
    before = code;
  }
  return turns >= length / 5 && /^[\w+/=-]+$/.test(text);
}

const MAX_LOOKED_AT = 64;

const LETTER = 1;
const DIGIT = 2;
const SIGN = 4;

/** What each ASCII character is: a letter, a digit, one of `!@#$%^*`. */
const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return /[A-Za-z]/.test(char) ? LETTER : /\d/.test(char) ? DIGIT : '!@#$%^*'.includes(char) ? SIGN : 0;
});

/** Whether a letter is next to a digit, or a sign between two of either. */
function hasPair(text: string): boolean {
  let last = 0;
  let beforeLast = 0;
  for (let at = 0; at < Math.min(text.length, MAX_LOOKED_AT); at += 1) {
    const code = text.charCodeAt(at);
    const is = code < 128 ? (CLASSES[code] as number) : 0;
    if ((is | last) === (LETTER | DIGIT) && is !== last) return true;
    if (last === SIGN && (is & (LETTER | DIGIT)) !== 0 && (beforeLast & (LETTER | DIGIT)) !== 0) return true;
    beforeLast = last;
    last = is;
  }
  return false;
}

export function hasLettersAndDigits(value: string): boolean {
  return /\d/.test(value) && /[A-Za-z]/.test(value);
}

/** Whether a token has a run of letters and digits that no words make up. */
export function isRandom(token: string): boolean {
  return token.match(/[A-Za-z0-9]{12,}/g)?.some(hasLettersAndDigits) === true;
}
