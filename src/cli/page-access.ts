import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import {
  errorMessage,
  type RunningPage,
  readOwnText,
  replacePrivateFile,
  runningPagePath,
  type StoreDoor,
  userStateFolder,
} from '../base/index.ts';
import type { Page } from '../ui/index.ts';
import { type CommandIo, print, usageError } from './command-line/index.ts';
import { printableLine } from './terminal/index.ts';

/** Flags of the commands that serve the page. */
export const PAGE_FLAGS = { as: { type: 'string' }, token: { type: 'string' } } as const;

/** Who may read, ask and decide on a page, for `startPage`. */
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

/**
 * The token with which programs of this user read pages, the same at each start, so that agents can be configured with it.
 * It is in a file that nobody else may read; one that others could have read or written is replaced.
 */
async function findReadToken(io: CommandIo): Promise<string> {
  const path = join(userStateFolder(io.env), 'read-token');
  const kept = readOwnText(path)?.trim();
  if (kept !== undefined && /^[\w-]+$/.test(kept) && kept.length === TOKEN_CHARS) return kept;
  const token = randomBytes(32).toString('base64url');
  try {
    await replacePrivateFile(path, `${token}\n`);
    // Another process may have written one at the same time: the last one stands.
    return readOwnText(path)?.trim() ?? token;
  } catch (error) {
    io.stderr.writeLine(
      `mcp-observatory: the read token cannot be kept, so the next start has another one: ${errorMessage(error)}`,
    );
    return token;
  }
}

/** Notes that a page runs over a store, for other programs of this user, until it is disposed of. */
export async function noteRunningPage(
  io: CommandIo,
  { address }: Page,
  readToken: string,
  store: string,
  door: StoreDoor | undefined,
): Promise<AsyncDisposable> {
  const port = Number(new URL(address).port);
  const path = runningPagePath(io.env, port);
  const page: RunningPage = { url: address, port, pid: process.pid, store, read_token: readToken, door };
  const written = await replacePrivateFile(path, `${JSON.stringify(page)}\n`).then(
    () => true,
    () => false,
  );
  return {
    [Symbol.asyncDispose]: async () => {
      const isOurs = readOwnText(path)?.includes(`"pid":${process.pid},`) === true;
      if (written && isOurs) rmSync(path, { force: true });
    },
  };
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
