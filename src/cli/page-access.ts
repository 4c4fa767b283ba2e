import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { errorMessage, replacePrivateFile } from '../base/index.ts';
import { type CommandIo, print, usageError } from './command-line/index.ts';
import { printableLine } from './terminal/index.ts';

/** A page that runs, as other commands of the same user find it. */
interface RunningPage {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Reads and decides nothing, as a bearer token. */
  readonly read_token: string;
}

/** Flags of the commands that serve the page. */
export const PAGE_FLAGS = { as: { type: 'string' }, token: { type: 'string' } } as const;

/** Who may read and decide on a page, for `startPage`. */
export interface PageAccess {
  readonly readToken: string;
  readonly token: string | undefined;
  readonly person: string | undefined;
  readonly onAddress: (url: string) => void;
}

/** The tokens of a page. The one of its address is printed, and neither kept nor passed on. */
export async function pageAccess(
  values: { readonly as?: string | undefined; readonly token?: string | undefined; readonly json: boolean },
  io: CommandIo,
): Promise<PageAccess> {
  return {
    readToken: await findReadToken(io),
    token: values.token ?? (io.env.MCP_OBSERVATORY_PAGE_TOKEN || undefined),
    person: findPerson(values.as),
    onAddress: (url) =>
      print(io, values.json ? { page: url } : printableLine(`  for another browser: ${url}`)),
  };
}

const TOKEN_CHARS = 43;

/** The folder of this package for what outlives a process and is no cache. */
function userStateFolder(env: CommandIo['env']): string {
  return join(env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'mcp-observatory');
}

/**
 * The token with which programs of this user read pages, the same at each start, so that agents can be configured with it.
 * It is in a file that nobody else may read; one that others could have read or written is replaced.
 */
async function findReadToken(io: CommandIo): Promise<string> {
  const path = join(userStateFolder(io.env), 'read-token');
  const kept = ownText(path)?.trim();
  if (kept !== undefined && /^[\w-]+$/.test(kept) && kept.length === TOKEN_CHARS) return kept;
  const token = randomBytes(32).toString('base64url');
  try {
    await replacePrivateFile(path, `${token}\n`);
    // Another process may have written one at the same time: the last one stands.
    return ownText(path)?.trim() ?? token;
  } catch (error) {
    io.stderr.writeLine(
      `mcp-observatory: the read token cannot be kept, so the next start has another one: ${errorMessage(error)}`,
    );
    return token;
  }
}

/** Notes that a page runs, for other commands of this user, until it is disposed of. */
export async function noteRunningPage(
  io: CommandIo,
  address: string,
  readToken: string,
): Promise<AsyncDisposable> {
  const port = Number(new URL(address).port);
  const path = join(userStateFolder(io.env), `page-${port}.json`);
  const page: RunningPage = { url: address, port, pid: process.pid, read_token: readToken };
  const written = await replacePrivateFile(path, `${JSON.stringify(page)}\n`).then(
    () => true,
    () => false,
  );
  return {
    [Symbol.asyncDispose]: async () => {
      if (written && ownText(path)?.includes(`"pid":${process.pid},`) === true) rmSync(path, { force: true });
    },
  };
}

/** The text of a file that only this user may read and write; undefined for any other. */
function ownText(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const about = fstatSync(file);
    const isOurs =
      process.getuid === undefined || (about.uid === process.getuid() && (about.mode & 0o077) === 0);
    return about.isFile() && about.size < 4096 && isOurs ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Who uses the command: a name that was given, else the user of the operating system. */
function findPerson(given: string | undefined): string | undefined {
  if (given !== undefined && given !== '') return given;
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the system's list.
    return undefined;
  }
}

/** The same, for a decision. @throws ObservatoryError `INVALID_OPTION` where nobody is known, or who poses as the page. */
export function namedPerson(given: string | undefined): string {
  if (/^\s*page\s*(?::|$)/iu.test(given ?? ''))
    throw usageError(`'${given}' is how a decision on the page is stored: give another name`);
  const name = findPerson(given);
  if (name !== undefined) return name;
  throw usageError('Say who you are with --as NAME');
}
