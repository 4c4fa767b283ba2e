import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { noPython, pythonProgram, pythonWithPackages } from './support/python.ts';

const FOLDER = fileURLToPath(new URL('../../collector/', import.meta.url));
const run = promisify(execFile);

describe('what is deployed, against the schemas of those who take it', { skip: noPython() }, () => {
  for (const file of readdirSync(join(FOLDER, 'k8s'))) {
    test(`Kubernetes knows every field of ${file}`, async () => {
      const validate = join(dirname(await pythonWithPackages()), 'kubernetes-validate');
      await run(validate, ['--strict', join(FOLDER, 'k8s', file)]);
    });
  }

  test('the compose file is one by the specification', async () => {
    const args = [pythonProgram('check_compose.py'), join(FOLDER, 'compose.yaml')];
    const { stdout } = await run(await pythonWithPackages(), args);
    assert.equal(stdout.trim(), 'apm grafana migrate observatory otelcol postgres roles');
  });
});
