/**
 * The one form of what a tool returned. Whatever server, SDK and transport it came from: optional members that are null
 * are absent, `content` is a list of blocks, images are base64 of the type that their bytes have, and every text is
 * well-formed. Nothing else is changed, and a result in that form is the same object.
 */
import { isObject, type JsonObject, toJsonText, toWellFormed, toWellFormedValue } from '../json/index.ts';
import { withoutNullMembers } from './envelope.ts';

/** A `CallToolResult` in one form, of anything a server sent as one. */
export function normalResult(raw: unknown): JsonObject {
  if (!isObject(raw)) return { content: [textBlock(textIn(raw))] };
  if (raw.toolResult !== undefined && isMissing(raw.content) && isMissing(raw.structuredContent))
    return normalResult(raw.toolResult);
  const { content, structuredContent, isError, _meta: meta } = raw;
  const read: Record<string, unknown> = { ...raw };
  const blocks = readBlocks(content, structuredContent, raw);
  if (blocks !== content) setOrDelete(read, 'content', blocks);
  const structure = structuredContent === null ? undefined : toWellFormedValue(structuredContent);
  if (structure !== structuredContent) setOrDelete(read, 'structuredContent', structure);
  if (isError !== undefined && typeof isError !== 'boolean') setOrDelete(read, 'isError', isErrorIn(isError));
  if (meta !== undefined && !isObject(meta)) delete read._meta;
  return isSameMembers(read, raw) ? raw : read;
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

function setOrDelete(target: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) delete target[key];
  else target[key] = value;
}

function isSameMembers(one: JsonObject, other: JsonObject): boolean {
  const keys = Object.keys(other);
  return keys.length === Object.keys(one).length && keys.every((key) => one[key] === other[key]);
}

/** An error that is said in another form is one; whatever else stands there says nothing. */
function isErrorIn(value: unknown): true | undefined {
  return value === 'true' || value === 1 ? true : undefined;
}

function readBlocks(content: unknown, structure: unknown, raw: JsonObject): unknown {
  if (Array.isArray(content) && content.length > 0) {
    let isChanged = content.some(Array.isArray);
    const blocks = (content as readonly unknown[]).flat().map((block) => {
      const read = readBlock(block);
      isChanged ||= read !== block;
      return read;
    });
    return isChanged ? blocks : content;
  }
  // The SDK adds an empty list where there is no content.
  if (isMissing(content) || (Array.isArray(content) && content.length === 0)) {
    const own = isMissing(structure) ? ownMembers(raw) : undefined;
    if (own !== undefined) return [textBlock(textIn(own))];
    return isMissing(content) && !isMissing(structure) ? undefined : (content ?? []);
  }
  return [
    isObject(content) && typeof content.type === 'string' ? readBlock(content) : textBlock(textIn(content)),
  ];
}

/** Members of a result that the protocol knows. */
const RESULT_MEMBERS = ['content', 'structuredContent', 'isError', 'toolResult', '_meta'];

/** What a server returned in place of content. What has a type of its own is no result of a tool. */
function ownMembers(raw: JsonObject): JsonObject | undefined {
  const own = Object.entries(raw).filter(
    ([key, value]) => !RESULT_MEMBERS.includes(key) && !isMissing(value),
  );
  return own.length === 0 || raw.resultType !== undefined ? undefined : Object.fromEntries(own);
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text: toWellFormed(text) };
}

/** A value in words: a text as it is, all else as JSON. */
function textIn(value: unknown): string {
  return typeof value === 'string' ? value : (toJsonText(value) ?? '');
}

/** Those of the protocol: what members others have, and what null says there, is not known. */
const BLOCK_TYPES: ReadonlySet<unknown> = new Set(['text', 'image', 'audio', 'resource', 'resource_link']);

function readBlock(given: unknown): unknown {
  if (typeof given === 'string') return textBlock(given);
  if (!isObject(given)) return given;
  if (isMissing(given.type) && typeof given.text === 'string') return readBlock({ ...given, type: 'text' });
  const block = BLOCK_TYPES.has(given.type) ? withoutNullMembers(given) : given;
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string'
        ? toWellFormedValue(block)
        : { ...block, text: textIn(block.text) };
    case 'image':
      return toWellFormedValue(readImage(block));
    case 'audio':
      return toWellFormedValue(readAudio(block));
    case 'resource':
      return toWellFormedValue(
        isObject(block.resource) ? replaced(block, 'resource', withoutNullMembers(block.resource)) : block,
      );
    default:
      return toWellFormedValue(block);
  }
}

function replaced(object: JsonObject, key: string, value: unknown): JsonObject {
  return object[key] === value ? object : { ...object, [key]: value };
}

const UNKNOWN_TYPE = 'application/octet-stream';
const DATA_URL = /^data:([^;,]{0,100})(?:;[^;,]{1,100}){0,3};base64,/i;

/** An image whose bytes can be read, or a line that says what was there in its place. */
function readImage(block: JsonObject): JsonObject {
  const { data, mimeType } = block;
  if (typeof data !== 'string') return textBlock('[image without data]');
  const { type: said, digits } = readData(data, mimeType);
  const base64 = plainBase64(digits);
  if (base64 === undefined || base64 === '') {
    const what = base64 === '' ? 'that is empty' : 'whose data is no base64';
    return textBlock(`[${said ?? 'image'} image ${what}]`);
  }
  const type = typeByBytes(base64) ?? said ?? UNKNOWN_TYPE;
  return type === mimeType && base64 === data ? block : { ...block, data: base64, mimeType: type };
}

function readAudio(block: JsonObject): JsonObject {
  const { data, mimeType } = block;
  if (typeof data !== 'string') return textBlock('[audio without data]');
  const { type = UNKNOWN_TYPE, digits } = readData(data, mimeType);
  return type === mimeType && digits === data ? block : { ...block, data: digits, mimeType: type };
}

/** The digits of base64 behind the `data:` of an address, and the type that is said: beside it, else in it. */
function readData(data: string, mimeType: unknown): { type: string | undefined; digits: string } {
  const prefix = DATA_URL.exec(data.slice(0, 512));
  const type = plainType(mimeType) ?? plainType(prefix?.[1]);
  return { type, digits: prefix === null ? data : data.slice(prefix[0].length) };
}

/** Other names of types, as servers write them. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** A media type without parameters, in lower case, by its usual name. */
function plainType(type: unknown): string | undefined {
  if (typeof type !== 'string') return undefined;
  const plain = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return plain === '' || plain.length > 100 ? undefined : (ALIASES[plain] ?? plain);
}

/** Base64 in its one usual form; undefined for what is none. */
function plainBase64(data: string): string | undefined {
  if (data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data)) return data;
  const digits = data.replace(/\s+/g, '').replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/');
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) return undefined;
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
}

/** The first bytes of the image formats that providers take, and of those they do not. */
const SIGNATURES: readonly (readonly [type: string, offset: number, bytes: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
  ['image/heic', 4, 'ftypheic'],
  ['image/heic', 4, 'ftypheix'],
  ['image/heif', 4, 'ftypmif1'],
  ['image/avif', 4, 'ftypavif'],
  ['image/bmp', 0, 'BM'],
  ['image/tiff', 0, 'II*\0'],
  ['image/tiff', 0, 'MM\0*'],
  ['application/pdf', 0, '%PDF-'],
];

/** The type that the bytes of an image say; undefined where they say none that is known. */
function typeByBytes(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, 64), 'base64').toString('latin1');
  const found = SIGNATURES.find(([, offset, bytes]) => head.startsWith(bytes, offset));
  return found?.[0];
}
