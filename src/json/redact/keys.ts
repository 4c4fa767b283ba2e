/** Private keys in PEM and PGP armor, and hashes of passwords. */
import type { Finder } from './find.ts';

const KEY_HEADER = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
/** Header lines of a key (`Proc-Type: 4,ENCRYPTED`, `Version: ...`), marks of quoted mail and white space, escaped or not. */
const KEY_PREAMBLE =
  /(?:\\{1,4}[nrt]|[\s>|]|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID)(?::|%3A)[^\r\n\\]{0,200}){0,40}/y;
const KEY_DATA = /(?:[A-Za-z0-9+/=]{8,}(?:\\{1,4}[nrt]|[\s>|]){0,8})+[A-Za-z0-9+/=]{0,7}/y;
/** Lines of other characters, where something in the middle of a key was left out, and the last line. */
const KEY_END = /[^-]{0,2000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;

/** A private key in armor, encrypted or not, with or without its last line. */
export const findPrivateKey: Finder = (text, at) => {
  KEY_HEADER.lastIndex = at;
  if (KEY_HEADER.exec(text) === null) return undefined;
  KEY_PREAMBLE.lastIndex = KEY_HEADER.lastIndex;
  KEY_PREAMBLE.exec(text);
  KEY_DATA.lastIndex = KEY_PREAMBLE.lastIndex;
  const data = KEY_DATA.exec(text)?.[0];
  if (data === undefined) return undefined;
  const end = KEY_DATA.lastIndex;
  KEY_END.lastIndex = end;
  if (KEY_END.exec(text) !== null) return { start: at, end: KEY_END.lastIndex, kind: 'private key' };
  return /\S{16}/.test(data.slice(0, 200)) ? { start: at, end, kind: 'private key' } : undefined;
};

const HASH =
  /\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|(?:1|5|6|7|y|apr1|md5|sha1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,64}\$[./A-Za-z0-9]{16,128}|argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,60}\$[A-Za-z0-9+/]{8,100}\$[A-Za-z0-9+/]{16,128})/y;

export const findPasswordHash: Finder = (text, at) => {
  HASH.lastIndex = at;
  return HASH.test(text) ? { start: at, end: HASH.lastIndex, kind: 'hash' } : undefined;
};
