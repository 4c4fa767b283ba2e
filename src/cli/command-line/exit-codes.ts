import type { ObservatoryErrorCode } from '../../base/index.ts';

/** Exit codes of all commands. */
export const EXIT_OK = 0;
/** The checked thing failed: a problem was found, or a model, server or database failed. */
export const EXIT_FAILED = 1;
/** Invalid usage, or an input named by the caller that cannot be read. Nothing was checked. */
export const EXIT_USAGE = 2;
/** Ended by Ctrl-C, as shells say it: 128 and the number of SIGINT. */
export const EXIT_INTERRUPTED = 130;

/** Errors in what the caller gave: flags, keys, and the files that flags name. */
const USAGE_CODES: ReadonlySet<string | undefined> = new Set<ObservatoryErrorCode>([
  'INVALID_OPTION',
  'INVALID_INPUT',
  'INVALID_SERVER_CONFIG',
  'API_KEY_MISSING',
  'POLICY_INVALID',
  'GOLDEN_UNREADABLE',
  'GOLDEN_TOO_NEW',
]);

/** The exit code for an error that ends a command. @param code that of an ObservatoryError. */
export function toExitCode(code: string | undefined): number {
  return USAGE_CODES.has(code) ? EXIT_USAGE : EXIT_FAILED;
}
