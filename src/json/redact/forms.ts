/** Secrets known by what is around them: passwords in addresses, credentials after their scheme, signatures, Twilio's keys. */
import type { Finder } from './find.ts';
import { hasLettersAndDigits, isOpaque, isPlaceholder } from './opaque.ts';

const USER_INFO = /[^\s/?#"'`<>\\)\]]{1,512}@/y;

/** The user name and password of `scheme://user:password@host`; a user name alone if it looks like a token. */
export const findUserInfo: Finder = (text, at) => {
  const start = at + 3;
  USER_INFO.lastIndex = start;
  const match = USER_INFO.exec(text);
  if (match === null || !/[a-z0-9]/i.test(text.charAt(at - 1))) return undefined;
  const info = match[0].slice(0, -1);
  const colon = info.indexOf(':');
  const password = colon === -1 ? undefined : info.slice(colon + 1);
  if (
    password === undefined
      ? !isOpaque(info, 16)
      : password === ''
        ? !isOpaque(info, 8)
        : isReference(password)
  )
    return undefined;
  return { start, end: start + info.length, kind: 'credential' };
};

function isReference(password: string): boolean {
  return /^(?:\$?\{.*\}|\$\w+|<.*>|%\w+%|\*+|\.{3}|…)$/.test(password);
}

const SCHEME_VALUE = /(?:bearer|basic)\s{1,4}([A-Za-z0-9+/=._~-]{8,2000})/iy;

/** `Bearer <token>`, and `Basic <user:password in base64>` where that is what the base64 says. */
export const findSchemeValue: Finder = (text, at) => {
  SCHEME_VALUE.lastIndex = at;
  const match = SCHEME_VALUE.exec(text);
  const value = match?.[1];
  if (match === null || value === undefined) return undefined;
  const isSecret = /^basic/i.test(match[0]) ? isBasic(value) : isOpaque(value, 16) && !isPlaceholder(value);
  return isSecret ? { start: at, end: at + match[0].length, kind: 'credential' } : undefined;
};

function isBasic(value: string): boolean {
  if (!/^[A-Za-z0-9+/]{8,}={0,2}$/.test(value.replace(/[.]$/, ''))) return false;
  return /^[\x20-\x39\x3b-\x7e]{0,200}:[\x20-\x7e]{0,400}$/.test(
    Buffer.from(value.slice(0, 800), 'base64').toString('latin1'),
  );
}

const SIGNATURE =
  /(?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|x-amz-credential|key-pair-id|policy|code_verifier|code|saml(?:request|response))=([\w%+/=.~-]{16,2000})/iy;

/** The signature of a signed address: Azure SAS, AWS, Google Cloud Storage, CloudFront. */
export const findSignature: Finder = (text, at) => {
  if (!/[?&;\s"'=]/.test(text.charAt(at - 1) || '?') && !text.startsWith('amp;', at - 4)) return undefined;
  SIGNATURE.lastIndex = at;
  const value = SIGNATURE.exec(text)?.[1];
  if (value === undefined) return undefined;
  const start = SIGNATURE.lastIndex - value.length;
  return { start, end: SIGNATURE.lastIndex, kind: 'signature' };
};

const TWILIO =
  /\b(?:AC|SK)[0-9a-f]{32}[^\w\r\n]{1,6}(?:[A-Za-z_]{2,20}[^\w\r\n]{1,6}){0,3}([A-Za-z0-9]{32})(?![A-Za-z0-9])/y;

/** The auth token beside the SID of a Twilio account, the secret beside that of an API key. */
export const findTwilioKey: Finder = (text, at) => {
  TWILIO.lastIndex = at;
  const [whole, key] = TWILIO.exec(text) ?? [];
  if (whole === undefined || key === undefined || !hasLettersAndDigits(key)) return undefined;
  const end = at + whole.length;
  const found = { start: end - key.length, end, kind: 'token' };
  if (!whole.startsWith('SK')) return found;
  return { start: at, end: at + 34, kind: 'api key', also: [found] };
};
