/**
 * The envelope of what a server sends, in one form. The schemas of the SDKs ignore an answer for one optional member that
 * is null, and its request then waits for its timeout; here such a member counts as absent.
 */
import { stripVTControlCharacters } from 'node:util';
import {
  isObject,
  type JsonObject,
  parseExactJson,
  readList,
  readObject,
  toJsonText,
} from '../json/index.ts';
import type { JsonRpcMessage } from './session.ts';

/** Levels of capabilities that are looked into. */
const MAX_DEPTH = 6;
/** Capabilities whose own members are objects too. */
const OF_OBJECTS: ReadonlySet<string> = new Set(['experimental', 'extensions']);
const IMPLEMENTATION_TEXTS = ['title', 'description', 'websiteUrl'];
const NO_ANSWER = 'The server sent an answer that is neither a result nor an error of JSON-RPC.';
export const INTERNAL_ERROR = -32603;
/** Errors, members that may be null in place of absent, the sign of an answer to `initialize`, digits no double holds. */
const MAY_NEED_REPAIR =
  /"error"\s{0,9}:|"(?:result|params|_meta|id|data|progressToken)"\s{0,9}:\s{0,9}null|"protocolVersion"|"supportedVersions"|\d{16}/;
/** A short text is read again whatever it holds. */
const SHORT_TEXT = 2_048;

/** @returns the messages a text holds, one or those of a batch; none where it holds something else. */
export function messagesIn(text: string): readonly JsonRpcMessage[] {
  const value = parseMessage(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  return (Array.isArray(value) ? value : [value])
    .map(readRpcMessage)
    .filter((message) => message !== undefined);
}

/** The JSON of a message; undefined for what is none. */
export function parseMessage(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    // The color of a log that the server wrote before.
    return text.includes('\u001b[')
      ? parseMessage(stripVTControlCharacters(text).replaceAll('\u001b', ''))
      : undefined;
  }
}

/** Whether a text may hold a message that the SDKs would not read as it is. A long one is not parsed to find out. */
export function mayNeedRepair(text: string): boolean {
  return text.length <= SHORT_TEXT || !/^\s{0,99}\{/.test(text) || MAY_NEED_REPAIR.test(text);
}

/** A value as a message of JSON-RPC in the form that both SDKs read; undefined where it is none. */
export function readRpcMessage(value: unknown): JsonRpcMessage | undefined {
  if (!isObject(value)) return undefined;
  const { jsonrpc, method } = value;
  if (typeof method !== 'string') return readAnswer(value);
  // Many servers log JSON to stdout, also with a `method`.
  if (jsonrpc !== '2.0') return undefined;
  const id = readId(value.id);
  return {
    jsonrpc,
    ...(id === undefined ? {} : { id }),
    method,
    ...(isObject(value.params) ? { params: withMeta(withoutNullMembers(value.params)) } : {}),
  };
}

function readAnswer({ jsonrpc, id: given, result, error }: JsonObject): JsonRpcMessage | undefined {
  const id = readId(given);
  const isAnswer = result !== undefined || error !== undefined || jsonrpc === '2.0';
  if (id === undefined || !isAnswer) return undefined;
  const said = readError(error);
  if (isObject(result) && (said === undefined || !saysSomething(error)))
    return { jsonrpc: '2.0', id, result: readResult(result) };
  if (said !== undefined) return { jsonrpc: '2.0', id, error: said };
  if (jsonrpc !== '2.0') return undefined;
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: NO_ANSWER } };
}

/** Versions of the protocol that are named in an error. */
const MAX_VERSIONS = 8;

/** An error as servers write it: a text, a code in words, a message that is an object or none at all. */
export function readError(error: unknown): JsonRpcMessage['error'] {
  if (error === undefined || error === null) return undefined;
  const { code, message, data } = readObject(error);
  const text =
    [message, error].find((said) => typeof said === 'string') ?? toJsonText(message ?? error) ?? '';
  const versions = readList(readObject(data).supported).slice(0, MAX_VERSIONS).join(', ');
  return {
    code: Number.isSafeInteger(code) ? (code as number) : INTERNAL_ERROR,
    message: versions === '' || text.includes(versions) ? text : `${text} (supported: ${versions})`,
    ...(data === undefined || data === null ? {} : { data }),
  };
}

/** Go writes an error of zeros where there was none. */
function saysSomething(error: unknown): boolean {
  return typeof error === 'object' ? Object.values(error ?? {}).some(Boolean) : Boolean(error);
}

function readId(id: unknown): string | number | undefined {
  return typeof id === 'string' || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}

function readResult(result: JsonObject): JsonObject {
  const read = withMeta(result);
  const isHandshake =
    read.content === undefined &&
    (typeof read.protocolVersion === 'string' || Array.isArray(read.supportedVersions));
  return isHandshake ? readHandshake(read) : read;
}

/** `_meta` is an object without nulls, or absent. */
function withMeta(value: JsonObject): JsonObject {
  if (value._meta === undefined) return value;
  const { _meta: meta, ...rest } = value;
  return isObject(meta) ? { ...rest, _meta: withoutNullMembers(meta) } : rest;
}

/** What a server says of itself. Nothing of it is worth losing the server. */
function readHandshake(result: JsonObject): JsonObject {
  const { instructions, serverInfo, capabilities, ...rest } = withoutNullMembers(result);
  return {
    ...rest,
    capabilities: capabilitiesIn(capabilities),
    serverInfo: readImplementation(serverInfo),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}

function readImplementation(value: unknown): JsonObject {
  const { name, version, icons, ...rest } = isObject(value) ? withoutNullMembers(value) : ({} as JsonObject);
  const known = Object.entries(rest).filter(
    ([key, member]) => !IMPLEMENTATION_TEXTS.includes(key) || typeof member === 'string',
  );
  return {
    ...Object.fromEntries(known),
    name: typeof name === 'string' ? name : '',
    version: typeof version === 'string' || typeof version === 'number' ? String(version) : '',
    ...(Array.isArray(icons) ? { icons } : {}),
  };
}

function capabilitiesIn(value: unknown): JsonObject {
  if (!isObject(value)) return {};
  const found = objectsIn(value);
  for (const name of OF_OBJECTS) {
    const inner = found[name];
    if (isObject(inner)) found[name] = objectsIn(inner);
  }
  return found;
}

/** The members that are objects, without nulls in them; `true`, or the empty list of PHP, in place of one is one. */
function objectsIn(value: JsonObject): Record<string, unknown> {
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    if (member === true || isEmptyList(member)) return [[name, {}]];
    return isObject(member) ? [[name, withoutNullMembers(member, MAX_DEPTH)]] : [];
  });
  return Object.fromEntries(members);
}

/** PHP writes an empty object as an empty list. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** An object without members that are null; the same object where there are none. */
export function withoutNullMembers(value: JsonObject, depth = 1): JsonObject {
  const members = Object.entries(value);
  if (depth === 1 && !members.some(([, member]) => member === null)) return value;
  const kept = members.flatMap(([name, member]): [string, unknown][] => {
    if (member === null) return [];
    return [[name, depth > 1 && isObject(member) ? withoutNullMembers(member, depth - 1) : member]];
  });
  return Object.fromEntries(kept);
}
