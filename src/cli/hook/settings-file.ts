/** The settings of an agent, with our hooks in them or without: edited with a backup, and restored byte by byte. */
import { isObject, type JsonObject, readList, readObject } from '../../json/index.ts';
import {
  decodeUtf8,
  type FileEdit,
  formatLike,
  readBackup,
  readIfThere,
  readJsonSettings,
  restoreFile,
  usageError,
  writeWithBackup,
} from '../command-line/index.ts';
import type { HookClient } from './clients.ts';

/** In every command of ours, after the program. */
const MARK = / hook (?:claude-code|codex|cursor|gemini-cli) --policy /;
/** The folder or link of this package, wherever it is installed. */
const OUR_NAME = /(?:^|[\s/\\])mcp-observatory(?:$|[\s/\\@'.])/;

const BACKUP = '.before-mcp-observatory';

/** The settings with the hooks. @throws ObservatoryError `INVALID_OPTION` for settings that are no plain JSON */
export function withHooks(path: string, client: HookClient, command: string): FileEdit {
  const before = readIfThere(path);
  const text = decodeUtf8(path, before);
  const settings = readSettings(path, text);
  const hooks = { ...readObject(settings.hooks) };
  for (const event of [...client.before, ...client.after])
    hooks[event] = [...readList(hooks[event]).flatMap(withoutOurs), client.entry(command, event)];
  const version = client.settings.startsWith('.cursor') ? { version: settings.version ?? 1 } : {};
  return { path, before, text: formatLike(text, { ...version, ...settings, hooks }) };
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
  if (typeof command !== 'string') return false;
  const [program = '', ...rest] = command.split(MARK);
  return rest.length > 0 && (program === thisProgram() || OUR_NAME.test(program));
}

/** Whether hooks of ours are in settings; those of others may read like them. */
function hasOurs(path: string, text: string): boolean {
  if (!MARK.test(text)) return false;
  const entries = Object.values(readObject(readSettings(path, text).hooks)).flatMap(readList);
  return entries.some((entry) => [entry, ...readList(readObject(entry).hooks)].some(isOurs));
}

/** How a shell starts this program. */
export function thisProgram(): string {
  return [process.execPath, process.argv[1] ?? ''].map(quote).join(' ');
}

export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function readSettings(path: string, text: string): JsonObject {
  const settings = readJsonSettings(path, text);
  if (isHooks(settings.hooks)) return settings;
  throw usageError(`'${path}' is not an object of settings, so it is not edited`);
}

function isHooks(hooks: unknown): boolean {
  return hooks === undefined || (isObject(hooks) && Object.values(hooks).every(Array.isArray));
}

/** Writes settings. The first backup is the one that is restored. */
export function installHooks(edit: FileEdit): void {
  writeWithBackup(edit, BACKUP, toOriginal(edit.path, edit.before));
}

/** What an uninstall restores: where our hooks were in it already, the settings without them. */
function toOriginal(path: string, before: Buffer | undefined): Buffer | undefined {
  if (before === undefined) return undefined;
  const text = decodeUtf8(path, before);
  return hasOurs(path, text) ? Buffer.from(withoutHooks(path, text)) : before;
}

/**
 * Takes the hooks out: the file as it was before, or, where it was changed since, without our entries.
 * @returns what was done; undefined where there is nothing to do.
 */
export function uninstallHooks(path: string, isDry: boolean): string | undefined {
  const backup = readBackup(path, BACKUP);
  const now = readIfThere(path);
  if (now === undefined) return undefined;
  const isAsWritten = backup !== undefined && now.equals(backup.after);
  if (!isAsWritten && !hasOurs(path, decodeUtf8(path, now))) return undefined;
  const text = isAsWritten ? backup.before : withoutHooks(path, decodeUtf8(path, now));
  if (!isDry) restoreFile(path, BACKUP, text);
  if (text === undefined) return `${path} is removed: it was not there before`;
  return isAsWritten
    ? `${path} is as it was before`
    : `${path} was changed since: our hooks are taken out of it`;
}
