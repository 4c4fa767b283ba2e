/**
 * Compiles `assembly/kernel.ts` and writes the module as text to `src/signals/kernel-binary.ts`, with the hash of what
 * it was compiled from, which a test compares. To be run after each change in `assembly/`:
 *
 *     npm run build && node dist/scripts/build-kernel.js
 *
 * The compiler is fetched for the occasion and is no dependency: it takes 100 MB and is needed this once.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashFolder } from './hash-folder.ts';

const COMPILER = 'assemblyscript@0.28.20';
const root = fileURLToPath(new URL('../../', import.meta.url));
const assembly = join(root, 'assembly');

const folder = mkdtempSync(join(tmpdir(), 'kernel-'));
try {
  const output = join(folder, 'kernel.wasm');
  const options = ['--enable', 'simd', '--enable', 'bulk-memory', '--runtime', 'stub', '--noAssert', '-O3'];
  const source = join(assembly, 'kernel.ts');
  const compile = ['--yes', `--package=${COMPILER}`, 'asc', source, '--outFile', output, ...options];
  execFileSync('npx', compile, { cwd: root, stdio: 'inherit' });
  const lines =
    readFileSync(output)
      .toString('base64')
      .match(/.{1,100}/g) ?? [];
  writeFileSync(
    join(root, 'src/signals/kernel-binary.ts'),
    `/** Made by \`scripts/build-kernel.ts\` with ${COMPILER}: not to be edited. */

/** SHA-256 of the files of \`assembly/\` that it was compiled from. */
export const KERNEL_SOURCE_HASH = '${hashFolder(assembly)}';

/** The WebAssembly module, base64. */
export const KERNEL: string = [
${lines.map((line) => `  '${line}',`).join('\n')}
].join('');
`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
