/** Edits of files that belong to the user: written with a backup beside the file, and restored from it byte by byte. */
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FILE_LIMITS, isObject, type JsonObject, parseStrictJson } from '../../json/index.ts';
import { usageError } from './command.ts';

/** What is kept beside a file, in base64, until the edit is undone. */
interface Backup {
  /** The file as it was; undefined where there was none. */
  readonly before: Buffer | undefined;
  readonly after: Buffer;
}

export interface FileEdit {
  readonly path: string;
  /** The file as it was; undefined where there was none. */
  readonly before: Buffer | undefined;
  readonly text: string;
}

/**
 * The file that is edited: links to it stay, and so do those to its folder.
 * @throws ObservatoryError `INVALID_OPTION` for one that must not be written, or that would be another one if it was
 */
export function findEditable(path: string): string {
  if (!existsSync(path)) {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw usageError(`'${path}' is a link that leads nowhere, so it is not edited`);
    const folder = dirname(path);
    return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
  }
  const about = statSync(path);
  if (!about.isFile()) throw usageError(`'${path}' is no file of text, so it is not edited`);
  if (about.nlink > 1) throw usageError(`'${path}' has another name (a hard link), so it is not edited`);
  if ((about.mode & 0o222) === 0 || !isWritable(path))
    throw usageError(`'${path}' may not be written, so it is not edited`);
  return realpathSync(path);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Undefined where there is no file. */
export function readIfThere(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}

/** @throws ObservatoryError `INVALID_OPTION` for what is not UTF-8 */
export function decodeUtf8(path: string, content: Buffer | undefined): string {
  const text = content?.toString('utf8') ?? '';
  if (content !== undefined && !content.equals(Buffer.from(text)))
    throw usageError(`'${path}' is not UTF-8, so it is not edited`);
  return text;
}

/** Settings; none for an empty text. @throws ObservatoryError `INVALID_OPTION` for what is no object in plain JSON */
export function readJsonSettings(path: string, text: string): JsonObject {
  if (text.trim() === '') return {};
  let settings: unknown;
  try {
    settings = parseStrictJson(text, FILE_LIMITS);
  } catch (cause) {
    throw usageError(`'${path}' is no plain JSON, so it is not edited: ${(cause as Error).message}`, cause);
  }
  if (isObject(settings)) return settings;
  throw usageError(`'${path}' is not an object of settings, so it is not edited`);
}

/** JSON with the indentation, the line ends and the end that the file has. */
export function formatLike(text: string, settings: JsonObject): string {
  const [, lineEnd = '\n', indent = '  '] = /^\{(\r?\n)([ \t]+)/.exec(text) ?? [];
  const json = JSON.stringify(settings, null, indent).replaceAll('\n', lineEnd);
  return text === '' || text.endsWith('\n') ? `${json}${lineEnd}` : json;
}

/**
 * Writes a file, unless it was changed meanwhile.
 * @param original what an undo restores; not used where the file is as an earlier edit left it, since that edit's is.
 * @param newMode of a file that is not there yet.
 */
export function writeWithBackup(
  { path, before, text }: FileEdit,
  ending: string,
  original: Buffer | undefined,
  newMode = 0o600,
): void {
  makeFolder(dirname(path));
  if (!isSame(readIfThere(path), before))
    throw usageError(`'${path}' was changed just now, so it is not edited. Try again`);
  keepBackup(path, ending, before, original, Buffer.from(text));
  replaceFile(path, text, before === undefined ? newMode : statSync(path).mode & 0o777, findOwner(path));
}

/** Keeps what a file was, for one that is written, or was by another program. */
export function keepBackup(
  path: string,
  ending: string,
  before: Buffer | undefined,
  original: Buffer | undefined,
  after: Buffer,
): void {
  const known = readBackup(path, ending);
  const kept = known !== undefined && before?.equals(known.after) === true ? known.before : original;
  const backup = { before: kept?.toString('base64') ?? null, after: after.toString('base64') };
  replaceFile(`${path}${ending}`, JSON.stringify(backup), 0o600, findOwner(path));
}

export function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined ? other === undefined : other !== undefined && one.equals(other);
}

export function readBackup(path: string, ending: string): Backup | undefined {
  try {
    const backup: unknown = JSON.parse(readFileSync(`${path}${ending}`, 'utf8'));
    if (!isObject(backup) || typeof backup.after !== 'string') return undefined;
    const { before, after } = backup;
    if (before !== null && typeof before !== 'string') return undefined;
    return {
      before: before === null ? undefined : Buffer.from(before, 'base64'),
      after: Buffer.from(after, 'base64'),
    };
  } catch {
    return undefined;
  }
}

/** Puts a file back, or takes it away where `content` is undefined, and its backup with it. */
export function restoreFile(path: string, ending: string, content: Buffer | string | undefined): void {
  if (content === undefined) rmSync(path);
  else replaceFile(realpathSync(path), content, statSync(path).mode & 0o777, findOwner(path));
  rmSync(`${path}${ending}`, { force: true });
}

/** Whose a file is, or is to be: of the one who has its folder, so that what root writes for somebody is theirs. */
function findOwner(path: string): Stats {
  return statSync(existsSync(path) ? path : dirname(path));
}

function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
  giveTo(path, findOwner(dirname(path)));
}

/** @throws ObservatoryError `INVALID_OPTION` where it would be another's afterwards */
function giveTo(path: string, { uid, gid }: Stats): void {
  const now = statSync(path);
  if (process.getuid === undefined || (now.uid === uid && (now.gid === gid || process.getuid() !== 0)))
    return;
  try {
    chownSync(path, uid, gid);
  } catch (cause) {
    throw usageError(`'${path}' would not have the owner that it has now, so it is not written`, cause);
  }
}

/** Through a file beside it, so that it is never there in part. */
function replaceFile(path: string, content: string | Buffer, mode: number, owner: Stats): void {
  const beside = `${path}.${process.pid}`;
  try {
    writeFileSync(beside, content, { mode: 0o600, flag: 'wx' });
    giveTo(beside, owner);
    // A file is made with less than its mode, by the mask of the process.
    chmodSync(beside, mode);
    renameSync(beside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(beside, { force: true });
    throw error;
  }
}
