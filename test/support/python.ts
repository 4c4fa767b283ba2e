/** A Python with the packages of test/fixtures/NAME/requirements.txt. */
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Why there can be no Python here, for `skip`; `false` when there can. CI must have it. */
export function noPython(): string | false {
  if (process.env.CI || spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0) return false;
  return 'Python 3 with venv is not installed';
}

type Packages = 'python' | 'clickhouse' | 'fastmcp';

/** A program of test/fixtures/python/, or of another list of packages. */
export function pythonProgram(name: string, packages: Packages = 'python'): string {
  return join(ROOT, 'test/fixtures', packages, name);
}

/** Path of the interpreter; the first call on a machine installs the packages. */
export async function pythonWithPackages(packages: Packages = 'python'): Promise<string> {
  const { stdout } = await promisify(execFile)(join(ROOT, 'scripts/python-for-tests.sh'), [packages]);
  return stdout.trim();
}
