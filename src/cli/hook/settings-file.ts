/** The settings of an agent, with our hooks in them or without: edited with a backup, and restored byte by byte. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import {
  FILE_LIMITS,
  isObject,
  type JsonObject,
  parseStrictJson,
  readList,
  readObject,
} from '../../json/index.ts';
import { usageError } from '../command-line/index.ts';
import type { HookClient } from './clients.ts';

/** In every command of ours, so that they are found again. */
const MARK = / hook (?:claude-code|codex|cursor|gemini-cli) --policy /;

/** What is kept beside the settings until the hooks are uninstalled. */
interface Backup {
  /** Base64 of the file as it was; null where there was none. */
  readonly before: string | null;
  /** Base64 of the file as it was written. */
  readonly after: string;
}

const toBackup = (path: string): string => `${path}.before-mcp-observatory`;

/** The file that is edited: links to it stay. @throws ObservatoryError `INVALID_OPTION` for one that must not be written */
export function findSettings(path: string): string {
  const isThere = existsSync(path);
  if (!isThere && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw usageError(`'${path}' is a link that leads nowhere, so it is not edited`);
  if (isThere && (statSync(path).mode & 0o222) === 0)
    throw usageError(`'${path}' may not be written, so it is not edited`);
  return isThere ? realpathSync(path) : path;
}

/** What settings become. */
export interface SettingsEdit {
  /** The file as it was; undefined where there was none. */
  readonly before: Buffer | undefined;
  readonly text: string;
}

/** The settings with the hooks. @throws ObservatoryError `INVALID_OPTION` for settings that are no plain JSON */
export function withHooks(path: string, client: HookClient, command: string): SettingsEdit {
  const before = existsSync(path) ? readFileSync(path) : undefined;
  const text = readText(path, before);
  const settings = readSettings(path, text);
  const hooks = { ...readObject(settings.hooks) };
  for (const event of [...client.before, ...client.after])
    hooks[event] = [...readList(hooks[event]).flatMap(withoutOurs), client.entry(command, event)];
  const version = client.settings.startsWith('.cursor') ? { version: settings.version ?? 1 } : {};
  return { before, text: formatLike(text, { ...version, ...settings, hooks }) };
}

function readText(path: string, content: Buffer | undefined): string {
  const text = content?.toString('utf8') ?? '';
  if (content !== undefined && !content.equals(Buffer.from(text)))
    throw usageError(`'${path}' is not UTF-8, so it is not edited`);
  return text;
}

/** The settings without our hooks; undefined where they are those that were there before. */
function withoutHooks(path: string, text: string): string {
  const settings = readSettings(path, text);
  const hooks = Object.entries(readObject(settings.hooks)).flatMap(([event, entries]) => {
    if (!Array.isArray(entries)) return [[event, entries] as const];
    const others = entries.flatMap(withoutOurs);
    return others.length === 0 && entries.length > 0 ? [] : [[event, others] as const];
  });
  return formatLike(text, { ...settings, hooks: Object.fromEntries(hooks) });
}

/** An entry without our hook: others may have been put beside it. Nothing where there is no other. */
function withoutOurs(entry: unknown): readonly unknown[] {
  if (isOurs(entry)) return [];
  const hooks = readList(readObject(entry).hooks);
  const others = hooks.filter((hook) => !isOurs(hook));
  if (others.length === hooks.length) return [entry];
  return others.length === 0 ? [] : [{ ...readObject(entry), hooks: others }];
}

function isOurs(hook: unknown): boolean {
  const { command } = readObject(hook);
  return typeof command === 'string' && MARK.test(command);
}

function readSettings(path: string, text: string): JsonObject {
  if (text.trim() === '') return {};
  try {
    const settings = parseStrictJson(text, FILE_LIMITS);
    if (isObject(settings) && isHooks(settings.hooks)) return settings;
  } catch (cause) {
    throw usageError(`'${path}' is no plain JSON, so it is not edited: ${(cause as Error).message}`, cause);
  }
  throw usageError(`'${path}' is not an object of settings, so it is not edited`);
}

function isHooks(hooks: unknown): boolean {
  return hooks === undefined || (isObject(hooks) && Object.values(hooks).every(Array.isArray));
}

/** JSON with the indentation and the end that the file has. */
function formatLike(text: string, settings: JsonObject): string {
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '  ';
  const json = JSON.stringify(settings, null, indent);
  return text === '' || text.endsWith('\n') ? `${json}\n` : json;
}

/** Writes settings. The first backup is the one that is restored. */
export function installHooks(path: string, { before, text }: SettingsEdit): void {
  const known = readBackup(path);
  const isOfOurs = known !== undefined && before?.equals(Buffer.from(known.after, 'base64')) === true;
  const original = isOfOurs ? known.before : toOriginal(path, before);
  const backup: Backup = { before: original, after: Buffer.from(text).toString('base64') };
  mkdirSync(dirname(path), { recursive: true });
  const now = existsSync(path) ? readFileSync(path) : undefined;
  if (now === undefined ? before !== undefined : before?.equals(now) !== true)
    throw usageError(`'${path}' was changed just now, so it is not edited. Try again`);
  replaceFile(toBackup(path), JSON.stringify(backup), 0o600);
  replaceFile(path, text, before === undefined ? 0o600 : statSync(path).mode & 0o777);
}

/** What an uninstall restores: where our hooks were in it already, the settings without them. */
function toOriginal(path: string, before: Buffer | undefined): string | null {
  if (before === undefined) return null;
  const text = readText(path, before);
  return (MARK.test(text) ? Buffer.from(withoutHooks(path, text)) : before).toString('base64');
}

/**
 * Takes the hooks out: the file as it was before, or, where it was changed since, without our entries.
 * @returns what was done; undefined where there is nothing to do.
 */
export function uninstallHooks(path: string, isDry: boolean): string | undefined {
  const backup = readBackup(path);
  const now = existsSync(path) ? readFileSync(path) : undefined;
  if (now === undefined) return undefined;
  const isAsWritten = backup !== undefined && now.equals(Buffer.from(backup.after, 'base64'));
  if (!isAsWritten && !MARK.test(now.toString('utf8'))) return undefined;
  const restored = isAsWritten && backup.before !== null ? Buffer.from(backup.before, 'base64') : undefined;
  const text = restored ?? (isAsWritten ? undefined : withoutHooks(path, readText(path, now)));
  if (!isDry) {
    if (text === undefined) rmSync(path);
    else replaceFile(path, text, statSync(path).mode & 0o777);
    rmSync(toBackup(path), { force: true });
  }
  if (text === undefined) return `${path} is removed: it was not there before`;
  return isAsWritten
    ? `${path} is as it was before`
    : `${path} was changed since: our hooks are taken out of it`;
}

function readBackup(path: string): Backup | undefined {
  try {
    const backup: unknown = JSON.parse(readFileSync(toBackup(path), 'utf8'));
    if (!isObject(backup) || typeof backup.after !== 'string') return undefined;
    return backup.before === null || typeof backup.before === 'string'
      ? (backup as unknown as Backup)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Through a file beside it, so that the settings are never there in part. */
function replaceFile(path: string, content: string | Buffer, mode: number): void {
  const beside = `${path}.${process.pid}`;
  try {
    writeFileSync(beside, content, { mode: 0o600, flag: 'wx' });
    // A file is made with less than its mode, by the mask of the process.
    chmodSync(beside, mode);
    renameSync(beside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(beside, { force: true });
    throw error;
  }
}
