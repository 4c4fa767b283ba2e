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

/** A chunk, as `scripts/bundle.mjs` describes it. */
interface Chunk {
  readonly fileName: string;
  readonly modules: readonly string[];
  /** Chunks and packages. */
  readonly imports: readonly string[];
}

/** Follows the imports of an entry of the bundle. */
export function loadOf(entry: string): Load {
  bundle();
  const all = JSON.parse(readFileSync(join(ROOT, 'dist/chunks.json'), 'utf8')) as Chunk[];
  const chunks = new Map(all.map((chunk) => [chunk.fileName, chunk]));
  const seen = new Set<string>();
  const packages = new Set<string>();
  const modules: string[] = [];
  const follow = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const chunk = chunks.get(name);
    if (chunk === undefined) packages.add(name);
    else {
      modules.push(
        ...chunk.modules.filter((id) => id.startsWith('src/')).map((id) => id.slice('src/'.length)),
      );
      chunk.imports.forEach(follow);
    }
  };
  follow(`${entry}.js`);
  return {
    modules: modules.sort(),
    packages: [...packages].filter((name) => !name.startsWith('node:')).sort(),
  };
}
