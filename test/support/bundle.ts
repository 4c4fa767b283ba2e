import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const LIB = join(ROOT, 'dist/lib');

/** The folder of the bundle, which `npm run build` makes; made here where only `tsc` has run. */
export function bundle(): string {
  if (!existsSync(join(LIB, 'index.js')))
    execFileSync(process.execPath, ['scripts/bundle.mjs'], { cwd: ROOT });
  return LIB;
}

/** What an entry loads when it is imported, without what it loads later. */
export interface Load {
  /** Our modules, by their path from `src/`. */
  readonly modules: readonly string[];
  /** Packages, without the modules of Node. */
  readonly packages: readonly string[];
}

/** Follows the imports of an entry of the bundle, whose chunks name the modules they are made of. */
export function loadOf(entry: string): Load {
  const chunks = new Set<string>();
  const packages = new Set<string>();
  const modules: string[] = [];
  const follow = (chunk: string): void => {
    if (chunks.has(chunk)) return;
    chunks.add(chunk);
    const code = readFileSync(join(bundle(), chunk), 'utf8');
    for (const [, module] of code.matchAll(/^\/\/ src\/(.+)$/gm)) modules.push(module as string);
    for (const [, specifier] of code.matchAll(/^(?:import|export)\b(?:[^;]*? from)? ?"([^"]+)";$/gm)) {
      if (specifier?.startsWith('./')) follow(specifier.slice(2));
      else if (specifier !== undefined && !specifier.startsWith('node:')) packages.add(specifier);
    }
  };
  follow(`${entry}.js`);
  return { modules: modules.sort(), packages: [...packages].sort() };
}
