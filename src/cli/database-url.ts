import type { CommandIo } from './command.ts';

/** Connection string of the environment, used where no flag gives one; an empty variable is one that is not set. */
export function databaseUrlFrom(env: CommandIo['env']): string | undefined {
  return env.MCP_OBSERVATORY_DATABASE_URL?.trim() || env.DATABASE_URL?.trim() || undefined;
}
