/**
 * Sharing with other copies of import-in-the-middle. Each copy has its own list of hooks, and of several copies only
 * one gets to wrap a module, whichever comes first in the chain of loaders: without this the hooks of the others,
 * dd-trace's or ours, would never fire.
 */
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diag } from '@opentelemetry/api';
import { Hook as RequireHook } from 'require-in-the-middle';

/** Called with the URL of a module, the object with its exports, the specifier of the import, and its format. */
type ImportHook = (url: string, ...rest: unknown[]) => void;

/** `lib/register.js` of a copy, as it has been since version 1.4. */
interface Registry {
  readonly importHooks: ImportHook[];
  readonly specifiers: Map<string, unknown>;
}

const PACKAGE = 'import-in-the-middle';
const IN_PACKAGE = `${sep}${PACKAGE}${sep}`;

/** Hooks that pass modules on; these are not passed on a second time. */
const forwarding = new WeakSet<ImportHook>();

/** Shares between our copy, found from `ownFile`, and each other one that is loaded, now or later. */
export function shareHooks(ownFile: string): void {
  const require = createRequire(ownFile);
  const own = registryAt(dirname(ownFile), require);
  if (own === undefined) return;
  const shared = new Set<unknown>([own]);
  const share = (folder: string): void => {
    const other = registryAt(folder, require);
    if (other === undefined || shared.has(other)) return;
    shared.add(other);
    forward(own, other);
    forward(other, own);
    diag.debug(`mcp-observatory: shares its hooks with ${folder}`);
  };
  for (const file of Object.keys(require.cache)) {
    const folder = packageFolder(file);
    if (folder !== undefined) share(folder);
  }
  new RequireHook([PACKAGE], (exports, _name, folder) => {
    if (folder !== undefined) attempt(() => share(folder));
    return exports;
  });
  own.importHooks.push((url) => {
    if (!url.includes(`/${PACKAGE}/`) || !url.startsWith('file:')) return;
    const folder = packageFolder(fileURLToPath(url));
    if (folder !== undefined) attempt(() => share(folder));
  });
}

/**
 * Passes modules that `from` wraps to the hooks of `to`. Hooks that are added later do not get earlier modules, which
 * `to` gives them for its own: there are instrumentations that fail if they are called while they are being made.
 */
function forward(from: Registry, to: Registry): void {
  const hook: ImportHook = (url, ...rest) => {
    attempt(() => {
      to.specifiers.set(url, from.specifiers.get(url));
      for (const each of [...to.importHooks]) if (!forwarding.has(each)) each(url, ...rest);
    });
  };
  forwarding.add(hook);
  from.importHooks.push(hook);
}

function registryAt(folder: string, require: NodeJS.Require): Registry | undefined {
  try {
    const found = require(join(folder, 'lib', 'register.js')) as Partial<Registry>;
    const isKnown = Array.isArray(found.importHooks) && found.specifiers instanceof Map;
    return isKnown ? (found as Registry) : undefined;
  } catch {
    return undefined;
  }
}

function packageFolder(file: string): string | undefined {
  const at = file.lastIndexOf(IN_PACKAGE);
  return at < 0 ? undefined : file.slice(0, at + IN_PACKAGE.length - 1);
}

/** The application's modules load even if this fails. */
function attempt(work: () => void): void {
  try {
    work();
  } catch (error) {
    diag.debug('mcp-observatory: could not share hooks', error);
  }
}
