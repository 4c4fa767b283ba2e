import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { goldenCommand } from '../src/cli/golden/index.ts';
import { readGolden, writeGolden } from '../src/golden/index.ts';
import { scenarioServer } from './support/ghost.ts';
import { runCommand } from './support/run-command.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';
import { longTest } from './support/size.ts';

const folder = mkdtempSync(join(tmpdir(), 'golden-cli-'));
after(() => rmSync(folder, { recursive: true }));
const config = join(folder, 'server_config.json');
writeFileSync(config, JSON.stringify({ mcpServers: { s: scenarioServer() } }));

const golden = (...args: string[]) =>
  runCommand(goldenCommand, args, [], { OPENAI_API_KEY: 'k', NO_COLOR: '1' });

longTest(
  'the commands of docs/goldens.md record a run, replay it alone, with others, and with live tools',
  async () => {
    await using model = await ScriptedProvider.start([
      { calls: [{ name: 's__add', arguments: { a: 1, b: 2 } }] },
      { text: 'It is 3.' },
    ]);
    const out = join(folder, 'refund.json');
    const address = ['--base-url', model.baseUrl('openai')];
    const written = await golden(
      'record',
      '--provider',
      'openai',
      '--config',
      config,
      '--out',
      out,
      ...address,
      'Add.',
    );
    assert.equal(written.code, 0, written.stderr);
    assert.equal(written.stdout, `${out}: scripted, 2 exchanges, 1 tool calls\n`);
    assert.equal((await readGolden(out)).test_name, 'refund');
    const docs = readFileSync(new URL('../../docs/goldens.md', import.meta.url), 'utf8');
    for (const command of [
      'golden record --provider',
      'golden replay goldens/refund.json --live-tools',
      '--json',
    ]) {
      assert.ok(docs.includes(command));
    }
    const replayed = await golden('replay', out);
    assert.deepEqual([replayed.code, replayed.stdout], [0, `same  ${out} (scripted)\n`]);
    const live = await golden('replay', out, '--live-tools', '--json');
    assert.equal(live.code, 0);
    assert.deepEqual(live.rows, [
      { path: out, test_name: 'refund', source: 'scripted', outcome: 'same', findings: [] },
    ]);
  },
);

test('replay ends with 1 and names the places when a golden differs, is edited or is no golden', async () => {
  const library = new URL('../../goldens/openai/edge_case_empty_result.json', import.meta.url);
  const original = await readGolden(library);
  const different = join(folder, 'set/different.json');
  await writeGolden(different, {
    ...original,
    golden_output: { ...original.golden_output, final_result: 'Else.' },
  });
  writeFileSync(
    join(folder, 'set/edited.json'),
    readFileSync(library, 'utf8').replace('Do nothing.', 'Do all.'),
  );
  writeFileSync(join(folder, 'set/truncated.json'), '{"format_version": 1,');
  const { code, rows } = await golden('replay', join(folder, 'set'), '--json');
  assert.equal(code, 1);
  assert.deepEqual(
    rows.map((row) => [row.outcome, (row.error as { code: string } | undefined)?.code]),
    [
      ['different', undefined],
      ['error', 'GOLDEN_EDITED'],
      ['error', 'GOLDEN_UNREADABLE'],
    ],
  );
  assert.match(JSON.stringify(rows[0]?.findings), /final_result/);
});

test('bad usage names the command', async () => {
  const cases: [string[], RegExp][] = [
    [[], /Expected one of .*record.*replay.*got nothing/],
    [['play'], /got 'play'/],
    [['replay'], /Expected a file or folder/],
    [['replay', join(folder, 'none')], /no file or folder/],
    [['record', '--provider', 'openai', 'x'], /Expected --out FILE/],
    [['record', '--out', 'x.json', 'x'], /Expected --provider/],
    [
      ['record', '--provider', 'openai', '--out', 'x', '--category', 'sad', 'x'],
      /--category to be one of happy_path/,
    ],
  ];
  for (const [args, message] of cases)
    await assert.rejects(golden(...args), { code: 'INVALID_OPTION', message });
});
