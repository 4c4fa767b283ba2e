/** Private keys: PEM, PGP and SSH2 armor, PuTTY, JSON Web Keys, PEM in base64. Hashes of passwords. */
import { type Find, type Finder, findOf } from './find.ts';

const KEY_HEADER = /----[- ]BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?[- ]----/y;
/** Header lines of a key (`Proc-Type: 4,ENCRYPTED`, `Version: ...`), marks of quoted mail and white space, escaped or not. */
const KEY_PREAMBLE =
  /-?(?:\\{1,4}[nrt]|[\s>|]|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID|Subject)(?::|%3A)[^\r\n\\]{0,200}){0,40}/y;
const KEY_DATA = /(?:[A-Za-z0-9+/=]{8,}(?:\\{1,4}[nrt]|[\s>|]){0,8})+[A-Za-z0-9+/=]{0,7}/y;
/** Lines of other characters, where something in the middle of a key was left out, and the last line. */
const KEY_END = /[^-]{0,2000}----[- ]END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?[- ]----/y;

/** A private key in armor, encrypted or not, with or without its last line. */
export const findPrivateKey: Finder = (text, at) => {
  const start = text.charAt(at - 1) === '-' ? at - 1 : at;
  KEY_HEADER.lastIndex = at;
  if (KEY_HEADER.exec(text) === null) return undefined;
  KEY_PREAMBLE.lastIndex = KEY_HEADER.lastIndex;
  KEY_PREAMBLE.exec(text);
  KEY_DATA.lastIndex = KEY_PREAMBLE.lastIndex;
  const data = KEY_DATA.exec(text)?.[0];
  if (data === undefined) return undefined;
  const end = KEY_DATA.lastIndex;
  KEY_END.lastIndex = end;
  if (KEY_END.exec(text) !== null) {
    const to = KEY_END.lastIndex;
    return { start, end: text.charAt(to) === '-' ? to + 1 : to, kind: 'private key' };
  }
  return /\S{16}/.test(data.slice(0, 200)) ? { start, end, kind: 'private key' } : undefined;
};

const PUTTY = /Private-Lines: \d{1,4}((?:(?:\\{1,4}[nr]|\s){1,4}[A-Za-z0-9+/=]{4,80}){1,200})/iy;

export const findPuttyKey: Finder = (text, at) => {
  PUTTY.lastIndex = at;
  const data = PUTTY.exec(text)?.[1];
  if (data === undefined) return undefined;
  return { start: PUTTY.lastIndex - data.trimStart().length, end: PUTTY.lastIndex, kind: 'private key' };
};

const BASE64_REST = /[A-Za-z0-9+/=_-]*/y;

/** `-----BEGIN ... PRIVATE KEY-----` in base64, as a kubeconfig has it. */
export const findEncodedKey: Finder = (text, at) => {
  if (
    !Buffer.from(text.slice(at, at + 80), 'base64')
      .toString('latin1')
      .includes('PRIVATE KEY')
  )
    return undefined;
  BASE64_REST.lastIndex = at;
  BASE64_REST.exec(text);
  return { start: at, end: BASE64_REST.lastIndex, kind: 'private key' };
};

const SECRET_MEMBER = /"(?:d|p|q|dp|dq|qi|k)\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}"([\w-]{20,1400})(?=\\{0,3}")/y;
const ANY_MEMBER = new RegExp(SECRET_MEMBER.source, 'g');

/** Members of a JSON Web Key that are secret, and how far its `kty` may be. */
const JWK_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'r', 't']);
const JWK_CHARS = 4_096;

export const isKeyMember = (key: string): boolean => JWK_MEMBERS.has(key);

export const findJwk: Finder = (text, at) => {
  SECRET_MEMBER.lastIndex = at;
  if (!SECRET_MEMBER.test(text)) return undefined;
  const start = Math.max(0, at - JWK_CHARS);
  const from = start + Math.max(0, text.slice(start, at).lastIndexOf('{'));
  const close = text.slice(at, at + JWK_CHARS).indexOf('}');
  const object = text.slice(from, close === -1 ? at + JWK_CHARS : at + close);
  if (!/"kty\\{0,3}"/.test(object)) return undefined;
  const finds: Find[] = [];
  for (const match of object.matchAll(ANY_MEMBER)) {
    const value = match[1] as string;
    const end = from + match.index + match[0].length;
    finds.push({ start: end - value.length, end, kind: 'private key' });
  }
  return findOf(finds);
};

const HASH =
  /\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|(?:1|5|6|7|y|apr1|md5|sha1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,64}\$[./A-Za-z0-9]{16,128}|argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,60}\$[A-Za-z0-9+/]{8,100}\$[A-Za-z0-9+/]{16,128}|ANSIBLE_VAULT;[\w.;-]{3,60}(?:\\{1,4}[nr]|\s){1,3}(?:[0-9a-f]{16,80}(?:\\{1,4}[nr]|\s){0,12}){1,2000})/y;

/** The hash of a password, and what Ansible Vault encrypted. */
export const findPasswordHash: Finder = (text, at) => {
  HASH.lastIndex = at;
  return HASH.test(text) ? { start: at, end: HASH.lastIndex, kind: 'hash' } : undefined;
};
