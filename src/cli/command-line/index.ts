export {
  type Command,
  type CommandIo,
  type CommandTable,
  commandIo,
  type FlagValues,
  type ProcessStreams,
  print,
  readFlags,
  usageError,
} from './command.ts';
export {
  DATABASE_FLAGS,
  findDatabaseUrl,
  findOpenDatabase,
  ifAllowed,
  joinUp,
  PAGE_PORT,
  UP_ADDRESS,
} from './database.ts';
export {
  decodeUtf8,
  type FileEdit,
  findEditable,
  formatLike,
  isSame,
  keepBackup,
  readBackup,
  readIfThere,
  readJsonSettings,
  restoreFile,
  writeWithBackup,
} from './edited-file.ts';
export { END_MS, EndingSignal } from './ending-signal.ts';
export {
  EXIT_DENIED,
  EXIT_FAILED,
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_USAGE,
  isEnforcing,
  toExitCode,
} from './exit-codes.ts';
export { FETCHED_SETS, fetchedFolder, fetchedModule, isInstalled } from './fetched-packages.ts';
export { ageFlag, durationFlag, namePortFlag, numberFlag, sizeFlag, wordFlag } from './flags.ts';
export { pumpJsonl, readKind } from './jsonl.ts';
export { readPrices } from './prices.ts';
export { findKey, RUN_FLAGS, RUN_FLAGS_HELP, readRunRequest } from './run-options.ts';
export { restartSparingly } from './sparing-restart.ts';
export { groupCommands, readSubcommand } from './subcommand.ts';
