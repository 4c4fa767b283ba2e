import type { CommandIo } from './command.ts';

/** Connection string from the environment, used without a flag; an empty variable counts as unset. */
export function databaseUrlFrom(env: CommandIo['env']): string | undefined {
  return env.MCP_OBSERVATORY_DATABASE_URL?.trim() || env.DATABASE_URL?.trim() || undefined;
}
