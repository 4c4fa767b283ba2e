/**
 * Cases of public reports about MCP clients, against servers that each script of the data folder makes: every line that
 * a script prints is a test, held against the right value.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from '../support/consumer.ts';
import { dataPath, needsData } from '../support/data.ts';
import { FIELD_SCRIPTS } from '../support/field-cases.ts';
import { noPython, pythonWithPackages } from '../support/python.ts';

const run = promisify(execFile);
const CASES = 'field/mcp/cases';

let folder: string;
let python: string | undefined;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'observatory-field-'));
  await linkPackages(join(folder, 'node_modules'));
  if (needsData(CASES).skip === false && noPython() === false) python = await pythonWithPackages('fastmcp');
});
after(() => rm(folder, { recursive: true, force: true }));

/** An application's packages: those of this repository, and the product as it was built. */
async function linkPackages(modules: string): Promise<void> {
  await mkdir(modules);
  const installed = join(ROOT, 'node_modules');
  for (const name of await readdir(installed)) {
    if (!name.startsWith('.')) await symlink(join(installed, name), join(modules, name));
  }
  await symlink(ROOT, join(modules, 'mcp-observatory'));
}

async function outputOf(script: string, args: readonly string[] = []): Promise<string> {
  const { stdout } = await run(process.execPath, [join(dataPath(CASES), `${script}.mjs`), ...args], {
    cwd: folder,
    env: { ...process.env, PY: python },
    maxBuffer: 64 * 1024 * 1024,
    timeout: 300_000,
  });
  return stdout;
}

describe('cases of public reports', { concurrency: 3, ...needsData(CASES) }, () => {
  for (const { script, args, cases = casesByLine, wrong } of FIELD_SCRIPTS) {
    const skip = script === 'fastmcp' && noPython();
    test(script, { skip }, async (t) => {
      const found = cases(await outputOf(script, args));
      assert.ok(found.length > 0, 'it printed no case');
      for (const one of found) {
        await t.test(one.name, () => {
          const problem = wrong(one);
          assert.equal(problem, undefined, `${problem}: ${one.text.slice(0, 600)}`);
        });
      }
    });
  }
});

/** One case a line, named by its first word. */
function casesByLine(stdout: string) {
  const printed = stdout.split('\n').filter((text) => text.trim() !== '');
  return printed.map((text) => ({ name: text.trim().split(/\s+/)[0] ?? '', text }));
}
