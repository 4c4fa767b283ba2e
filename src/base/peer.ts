import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { ObservatoryError } from './errors.ts';

/** Who needs an optional package and in which version; used in the error message. */
export interface PeerUse {
  /** What needs it, as the start of a sentence, e.g. `The embedded database`. */
  readonly neededFor: string;
  /** Version the install command asks for, e.g. `6`. @defaultValue the newest */
  readonly range?: string | undefined;
}

/**
 * Loads an optional package on first use. Failures other than its absence are rethrown unchanged, including a missing
 * dependency of that package.
 *
 * @throws ObservatoryError `MISSING_PEER` with the install command when it is not installed, or in a version that lacks
 * what is loaded.
 */
export async function loadPeer<T>(name: string, load: () => Promise<T>, use: PeerUse): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const problem = isAbsent(cause, name)
      ? 'which is not installed'
      : isTooOld(cause, name)
        ? 'whose installed version is too old for it'
        : undefined;
    if (problem === undefined) throw cause;
    const wanted = use.range === undefined ? name : `${name}@${use.range}`;
    throw new ObservatoryError(
      'MISSING_PEER',
      `${use.neededFor} needs the package '${name}', ${problem}. Run: npm install ${wanted}`,
      { cause },
    );
  }
}

/** Node quotes the missing package in its message; `require` quotes the requested path below it. */
function isAbsent(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND') &&
    (error.message.includes(`'${name}'`) || error.message.includes(`'${name}/`))
  );
}

/** Whether the package is there and a file of it is not: the error names that file first. */
function isTooOld(error: unknown, name: string): boolean {
  if (!(error instanceof Error && 'code' in error)) return false;
  if (error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return error.message.includes(`${name}/package.json`);
  const [, missing = ''] = /^Cannot find module '([^']*)'/.exec(error.message) ?? [];
  return (
    error.code === 'ERR_MODULE_NOT_FOUND' && missing.replaceAll('\\', '/').includes(`/node_modules/${name}/`)
  );
}

/**
 * Imports an optional package. Bundlers fail on a package that is named in an `import()` and not installed, so it is
 * not named there.
 */
export function importPeer<T>(specifier: string): Promise<T> {
  // Deno would run the requests of servers in the context of the last `import()` from then on.
  return context.with(
    ROOT_CONTEXT,
    () => import(/* webpackIgnore: true */ /* @vite-ignore */ specifier) as Promise<T>,
  );
}
