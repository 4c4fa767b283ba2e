import type { ObservatoryErrorCode } from '../../base/index.ts';

/** Exit codes of all commands. */
export const EXIT_OK = 0;
/** The checked thing failed: a problem was found, or a model, server or database failed. */
export const EXIT_FAILED = 1;
/** Invalid usage, or an input named by the caller that cannot be read. Nothing was checked. */
export const EXIT_USAGE = 2;
/** Of a hook: denies the tool, in every agent. */
export const EXIT_DENIED = 2;
/** Ended by Ctrl-C, as shells say it: 128 and the number of SIGINT. */
export const EXIT_INTERRUPTED = 130;

/** Whether the arguments of `hook` enforce a policy: whatever goes wrong then, in them too, stops the tool. */
export function isEnforcing(args: readonly string[]): boolean {
  return args.some((arg) => arg.startsWith('--enforce'));
}

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
