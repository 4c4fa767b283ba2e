/**
 * The CommonJS hook for v1 of the SDK. By package name none fires: `exports["."]` of `@modelcontextprotocol/sdk` points
 * at a file that is not in its tarball, so require-in-the-middle cannot resolve it and gives up. It does catch the
 * files by their resolved names, whichever entry point the application loads them through.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hook } from 'require-in-the-middle';

export const V1_PACKAGE = '@modelcontextprotocol/sdk';
/** First minor of v1 with Streamable HTTP as it is today; also the range the peers support. */
const FIRST_MINOR = 9;

/** Calls `found` with the exports of every copy of v1's protocol module as it is loaded. Undo with `unhook()`. */
export function hookV1Require(found: (exports: unknown) => void): Hook {
  return new Hook(
    [`${V1_PACKAGE}/dist/cjs/shared/protocol`],
    { internals: true },
    (exports, _name, basedir) => {
      if (isSupported(basedir)) found(exports);
      return exports;
    },
  );
}

function isSupported(basedir: string | undefined): boolean {
  if (basedir === undefined) return false;
  try {
    const { version } = JSON.parse(readFileSync(join(basedir, 'package.json'), 'utf8')) as {
      version?: unknown;
    };
    const [major, minor] = String(version).split('.').map(Number);
    return major === 1 && minor !== undefined && minor >= FIRST_MINOR;
  } catch {
    return false;
  }
}
