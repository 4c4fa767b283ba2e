import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder of this package in the user's cache: what is in it can be fetched again. */
export function userCacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'mcp-observatory');
}
