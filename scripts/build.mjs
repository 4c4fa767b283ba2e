/**
 * Makes `dist`: compiles everything with `tsc`, and beside that bundles what ships. `--quick`, for `npm test`, neither
 * checks types nor writes declarations, which takes a quarter of the time; `npm run check` does both.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const QUICK = ['--noCheck', '--declaration', 'false', '--declarationMap', 'false'];

rmSync(`${ROOT}dist`, { recursive: true, force: true });
const compile = ['node_modules/typescript/bin/tsc', '-p', '.'];
if (process.argv.includes('--quick')) compile.push(...QUICK);
const codes = await Promise.all([run(compile), run(['scripts/bundle.mjs'])]);
process.exitCode = Math.max(...codes);

async function run(args) {
  const [code] = await once(spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }), 'exit');
  return code ?? 1;
}
