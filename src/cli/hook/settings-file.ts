/** The settings of an agent, with our hooks in them or without: edited with a backup, and restored byte by byte. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
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

/** The settings with the hooks, as text. @throws ObservatoryError `INVALID_OPTION` for settings that are no plain JSON */
export function withHooks(path: string, client: HookClient, command: string): string {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const settings = readSettings(path, text);
  const hooks = { ...readObject(settings.hooks) };
  for (const event of [...client.before, ...client.after])
    hooks[event] = [
      ...readList(hooks[event]).filter((entry) => !isOurs(entry)),
      client.entry(command, event),
    ];
  const version = client.settings.startsWith('.cursor') ? { version: settings.version ?? 1 } : {};
  return formatLike(text, { ...version, ...settings, hooks });
}

/** The settings without our hooks; undefined where they are those that were there before. */
function withoutHooks(path: string, text: string): string {
  const settings = readSettings(path, text);
  const hooks = Object.entries(readObject(settings.hooks)).flatMap(([event, entries]) => {
    const others = readList(entries).filter((entry) => !isOurs(entry));
    return others.length === 0 && readList(entries).length > 0 ? [] : [[event, others] as const];
  });
  return formatLike(text, { ...settings, hooks: Object.fromEntries(hooks) });
}

function isOurs(entry: unknown): boolean {
  const { command, hooks } = readObject(entry);
  return [command, ...readList(hooks).map((hook) => readObject(hook).command)].some(
    (given) => typeof given === 'string' && MARK.test(given),
  );
}

function readSettings(path: string, text: string): JsonObject {
  if (text.trim() === '') return {};
  try {
    const settings = parseStrictJson(text, FILE_LIMITS);
    if (isObject(settings) && (settings.hooks === undefined || isObject(settings.hooks))) return settings;
  } catch (cause) {
    throw usageError(`'${path}' is no plain JSON, so it is not edited: ${(cause as Error).message}`, cause);
  }
  throw usageError(`'${path}' is not an object of settings, so it is not edited`);
}

/** JSON with the indentation and the end that the file has. */
function formatLike(text: string, settings: JsonObject): string {
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '  ';
  const json = JSON.stringify(settings, null, indent);
  return text === '' || text.endsWith('\n') ? `${json}\n` : json;
}

/** Writes settings. The first backup is the one that is restored. */
export function installHooks(path: string, text: string): void {
  const before = existsSync(path) ? readFileSync(path) : undefined;
  const known = readBackup(path);
  const isOfOurs = known !== undefined && before?.equals(Buffer.from(known.after, 'base64')) === true;
  const original = isOfOurs ? known.before : (before?.toString('base64') ?? null);
  const backup: Backup = { before: original, after: Buffer.from(text).toString('base64') };
  mkdirSync(dirname(path), { recursive: true });
  replaceFile(toBackup(path), JSON.stringify(backup), 0o600);
  replaceFile(path, text, before === undefined ? 0o600 : statSync(path).mode & 0o777);
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
  const text = restored ?? (isAsWritten ? undefined : withoutHooks(path, now.toString('utf8')));
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
    return isObject(backup) && typeof backup.after === 'string' ? (backup as unknown as Backup) : undefined;
  } catch {
    return undefined;
  }
}

/** Through a file beside it, so that the settings are never there in part. */
function replaceFile(path: string, content: string | Buffer, mode: number): void {
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, content, { mode });
  renameSync(beside, path);
}
