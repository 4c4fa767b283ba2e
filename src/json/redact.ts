/**
 * Removes secrets of known formats from text before it is stored or shown. Secrets without a recognizable format
 * remain.
 */

/** Every pattern is linear on V8: bounded repeats, no two adjacent repeats that can match the same characters. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
    'private key',
  ],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{12,20}/g, 'access key'],
  [/\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,255}|\bgithub_pat_[A-Za-z0-9_]{20,255}/g, 'token'],
  [/\bglpat-[A-Za-z0-9_-]{16,64}/g, 'token'],
  [/\bxox[abeoprs]-[A-Za-z0-9-]{10,250}/g, 'token'],
  [/\bsk-[A-Za-z0-9_-]{16,250}/g, 'api key'],
  [/\bAIza[A-Za-z0-9_-]{30,45}/g, 'api key'],
  [/\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{0,4000}/g, 'token'],
  [/\b(?:Bearer|Basic) [A-Za-z0-9+/=._~-]{12,4000}/g, 'credential'],
  [/\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s/:@]{1,100}:[^\s/@]{1,200}@/gi, 'credential'],
];

/** `password=...`, `"api_key": "..."`: keeps the name, removes the value. */
const ASSIGNMENT =
  /\b((?:[a-z0-9]{1,20}[_-]){0,3}(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret)["']?\s{0,3}[=:]\s{0,3}["']?)([^\s"',;&]{4,400})/gi;

/** The text with each secret replaced by `[redacted: <kind>]`. */
export function redactText(text: string): string {
  let out = text;
  for (const [pattern, kind] of SECRETS) out = out.replace(pattern, `[redacted: ${kind}]`);
  return out.replace(ASSIGNMENT, '$1[redacted: secret]');
}

/** A copy of a JSON value with the secrets of every text redacted, keys included. */
export function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redactText(key), redactMember(key, member)] as const),
  );
}

const SECRET_KEY =
  /^(?:.{0,40}[_-])?(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token|refresh[_-]?token|auth[_-]?token|private[_-]?key)$/i;

function redactMember(key: string, member: unknown): unknown {
  if (typeof member === 'string' && SECRET_KEY.test(key)) return '[redacted: secret]';
  return redactValue(member);
}
