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

/** Calls `found` with the exports and version of every copy of v1's protocol module as it is loaded. */
export function hookV1Require(found: (exports: unknown, version: string) => void): Hook {
  return new Hook(
    [`${V1_PACKAGE}/dist/cjs/shared/protocol`],
    { internals: true },
    (exports, _name, basedir) => {
      const version = versionIn(basedir);
      if (version !== undefined && isSupported(version)) found(exports, version);
      return exports;
    },
  );
}

function versionIn(basedir: string | undefined): string | undefined {
  if (basedir === undefined) return undefined;
  try {
    const { version } = JSON.parse(readFileSync(join(basedir, 'package.json'), 'utf8')) as {
      version?: unknown;
    };
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

function isSupported(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return major === 1 && minor !== undefined && minor >= FIRST_MINOR;
}
