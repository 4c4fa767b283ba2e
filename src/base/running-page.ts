import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isPidInUse } from './live-process.ts';

/** Where a process that holds a store lets others of its user read it, and gates ask. Nobody decides there. */
export interface StoreDoor {
  readonly url: string;
  /** Ends with the process. */
  readonly token: string;
  /** Where the process takes spans, OTLP over HTTP. */
  readonly spansUrl?: string | undefined;
}

/** A page that runs, as other programs of the same user find it. None of its tokens decides anything. */
export interface RunningPage {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The database it is over. */
  readonly store: string;
  /** Reads, as a bearer token. */
  readonly read_token: string;
  readonly door: StoreDoor | undefined;
}

/** The folder of this package for what outlives a process and is no cache. */
export function userStateFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'mcp-observatory');
}

/** Where a page notes that it runs. */
export function runningPagePath(env: NodeJS.ProcessEnv, port: number): string {
  return join(userStateFolder(env), `page-${port}.json`);
}

/** The page of this user that runs at a port; undefined for none, or one that others could have noted. */
export function findRunningPage(env: NodeJS.ProcessEnv, port: number): RunningPage | undefined {
  try {
    const page = JSON.parse(readOwnText(runningPagePath(env, port)) ?? '') as RunningPage;
    return isPidInUse(page.pid) && page.port === port ? page : undefined;
  } catch {
    return undefined;
  }
}

/** The text of a file that only this user may read and write; undefined for any other. */
export function readOwnText(path: string): string | undefined {
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
