/**
 * Checks the package as it would be published: its size, the links of its documents, its entries (publint, attw), and
 * that the code samples of the docs compile against it. Needs a build: `npm run build && npm run check:package`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkSamples } from './check-samples.ts';
import { brokenLinks } from './document-links.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAX_FILES = 260;
const MAX_UNPACKED_BYTES = 7_200_000;

interface Packed {
  readonly filename: string;
  readonly entryCount: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const folder = mkdtempSync(join(tmpdir(), 'observatory-package-'));
try {
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const output = execFileSync('npm', pack, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { filename, entryCount, unpackedSize, files } = firstOf(JSON.parse(output));
  process.stdout.write(`${filename}: ${entryCount} files, ${unpackedSize} bytes unpacked\n`);
  if (entryCount > MAX_FILES) fail(`A package has at most ${MAX_FILES} files`);
  if (unpackedSize >= MAX_UNPACKED_BYTES) fail(`A package has less than ${MAX_UNPACKED_BYTES} bytes`);
  const tarball = join(folder, filename);
  execFileSync('tar', ['-xf', tarball, '-C', folder]);
  const unpacked = join(folder, 'package');
  for (const { path } of files.filter((file) => /\.(?:md|txt)$/.test(file.path))) {
    for (const problem of brokenLinks(unpacked, path, readFileSync(join(unpacked, path), 'utf8')))
      fail(`In the package, ${problem}`);
  }
  run('publint', [tarball, '--strict']);
  run('attw', [tarball, '--profile', 'esm-only']);
  try {
    process.stdout.write(`${checkSamples(ROOT)} samples of the docs compile\n`);
  } catch {
    fail('A sample of the docs does not compile');
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** npm 11 prints a list, npm 12 an object keyed by package name. */
function firstOf(packed: unknown): Packed {
  return Object.values(packed as Record<string, Packed>)[0] as Packed;
}

function run(command: string, args: readonly string[]): void {
  try {
    execFileSync(join(ROOT, 'node_modules/.bin', command), args, { cwd: ROOT, stdio: 'inherit' });
  } catch {
    fail(`${command} found a problem`);
  }
}

function fail(message: string): void {
  process.stdout.write(`${message}\n`);
  process.exitCode = 1;
}
