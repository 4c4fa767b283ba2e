/** Paths of this machine with their links followed. */
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';

/** Files of the process that opens them: they are others in this one. */
const OF_PROCESS = /^\/(?:dev\/fd|proc\/(?:self|thread-self|\d+))(?:\/|$)/;

/** The path with its links followed. Undefined for what cannot be followed, or leads to two files. */
export function readRealPath(cwd: string, path: string): string | undefined {
  const whole = resolve(cwd, path);
  if (OF_PROCESS.test(whole)) return undefined;
  const real = followLinks(whole);
  if (!path.split(sep).includes('..')) return real;
  // After a link `..` is another folder for the system than in the text.
  const asOpened = followLinks(isAbsolute(path) ? path : `${resolve(cwd)}${sep}${path}`);
  return asOpened === real ? real : undefined;
}

/** Also where the file itself is not there yet. */
function followLinks(path: string): string | undefined {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing.reverse());
    } catch (error) {
      // A link that leads nowhere would be written through; a loop has no end.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isLink(at)) return undefined;
    }
    missing.push(basename(at));
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}
