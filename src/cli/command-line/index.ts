export { type Command, type CommandIo, EXIT_FAILED, EXIT_OK, EXIT_USAGE, writeJson } from './command.ts';
export { databaseUrlFrom } from './database-url.ts';
export { parseDuration } from './duration.ts';
export { kindOf, pumpJsonl } from './jsonl.ts';
export { numberFlag, RUN_FLAGS, RUN_FLAGS_HELP, readRunRequest, usageError } from './run-options.ts';
