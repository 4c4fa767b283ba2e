/** A Python with the packages of test/fixtures/NAME/requirements.txt, or of test/fixtures/NAME.txt. */
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

type Packages = 'python' | 'clickhouse' | 'fastmcp' | 'sqlite' | `stacks/${string}`;

/** Why no packages of Python can be had, for `skip`; `false` when they can. CI must have them. */
export async function noPyPi(): Promise<string | false> {
  if (process.env.CI) return false;
  try {
    const { ok } = await fetch('https://pypi.org/simple/uv/', {
      method: 'HEAD',
      signal: AbortSignal.timeout(20_000),
    });
    return ok ? false : 'PyPI does not answer';
  } catch {
    return 'PyPI is not reachable';
  }
}

/** A program of test/fixtures/python/, or of another folder. */
export function pythonProgram(name: string, packages: string = 'python'): string {
  return join(ROOT, 'test/fixtures', packages, name);
}

/** Path of the interpreter; the first call on a machine installs the packages. */
export async function pythonWithPackages(packages: Packages = 'python'): Promise<string> {
  const { stdout } = await promisify(execFile)(join(ROOT, 'scripts/python-for-tests.sh'), [packages]);
  return stdout.trim();
}
