/** Goldens of recordings, approved goldens, and how much a golden catches. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCli } from '../src/cli/run-cli.ts';
import { computeEffectiveness, playGolden, readGolden, writeGolden } from '../src/golden/index.ts';
import { CASSETTES, hasCassettes } from './support/recordings.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';
import { longTest } from './support/size.ts';

const folder = await mkdtemp(join(tmpdir(), 'golden-import-'));
after(() => rm(folder, { recursive: true }));
const LIBRARY = fileURLToPath(new URL('../../goldens/', import.meta.url));

async function golden(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runCli(['golden', ...args], { stdin: Readable.from([]), stdout, stderr, env: {} });
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

const skip = !hasCassettes && 'the data folder is not there';

test('recorded conversations with tools become goldens with their dates, models and tokens', {
  skip,
}, async () => {
  const out = join(folder, 'imported');
  const files = ['openai', 'anthropic', 'gemini'].map((name) => join(CASSETTES, `${name}.jsonl`));
  const { code, stdout } = await golden('import', ...files, '--out', out, '--json');
  assert.equal(code, 0);
  const { written } = JSON.parse(stdout) as { written: { path: string; recorded_at: string | null }[] };
  assert.ok(written.length >= 30);
  const path = written.find((one) => one.path.includes('anthropic_002cfe2a0bbb'))?.path ?? '';
  const imported = await readGolden(path);
  assert.equal(imported.source, 'recorded');
  assert.equal(imported.recorded_at, '2026-08-19T14:34:46.000Z');
  assert.deepEqual(imported.versions.models, ['claude-haiku-4-5-20251001']);
  assert.match(imported.description, /pydantic|ruby_llm/);
  assert.ok(
    imported.provider_responses.every(({ duration_ms: ms }) => ms === null),
    'no duration is made up',
  );
  await using playback = await playGolden(imported);
  const [first] = imported.provider_responses;
  const response = await fetch(new URL(first?.request.path ?? '', playback.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(first?.request.body),
  });
  assert.match(await response.text(), /best_language_to_learn/, 'it can be played back');

  const other = written.find((one) => one.path.includes('gemini_0ca117ba96d0'))?.path ?? '';
  const compared = await golden('compare', path, other, '--json');
  const { a, b, same } = JSON.parse(compared.stdout) as Record<string, Record<string, unknown>>;
  assert.equal(same, true, 'the same task on two providers');
  assert.deepEqual([a?.total_tokens, a?.model_ms, a?.elapsed_ms], [3264, null, 5000]);
  assert.deepEqual([b?.total_tokens, b?.model_ms, b?.elapsed_ms], [684, null, 2000]);
});

test('what is no recording is refused by its line, and the rest is imported', async () => {
  const exchange = {
    id: 'one',
    provider: 'openai',
    request: {
      path: '/v1/chat/completions',
      body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    },
    response: { status: 200, headers: {}, body: { model: 'm', created: 1_700_000_000, choices: [] } },
  };
  const file = join(folder, 'rows.jsonl');
  const rows = [exchange, { ...exchange, recorded: false }, { ...exchange, request: undefined }, 'no'];
  await writeFile(file, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n{\n`);
  const none = await golden('import', file, '--out', join(folder, 'none'), '--json');
  const told = JSON.parse(none.stdout) as { written: object[]; refused: { line: number }[] };
  assert.equal(none.code, 1);
  assert.deepEqual(told.written, [], 'it calls no tool');
  assert.deepEqual(
    told.refused.map(({ line }) => line),
    [2, 3, 4, 5],
  );
  const all = await golden('import', file, '--out', join(folder, 'all'), '--all', '--json');
  const { written } = JSON.parse(all.stdout) as { written: { recorded_at: string }[] };
  assert.deepEqual(
    written.map((one) => one.recorded_at),
    ['2023-11-14T22:13:20.000Z'],
    "OpenAI's own date",
  );
  assert.equal((await golden('import', file)).code, 2);
});

test('a person approves a golden; a change voids the approval', async () => {
  const dir = await mkdtemp(join(folder, 'approved-'));
  const path = join(dir, 'run.json');
  await copyFile(join(LIBRARY, 'openai/happy_path_customer_lookup.json'), path);
  const unreviewed = async () => await golden('list', dir, '--unreviewed', '--strict', '--json');
  const namesOf = ({ stdout }: { stdout: string }) =>
    (JSON.parse(stdout) as { goldens: { file: string }[] }).goldens.map(({ file }) => file);
  const before = await unreviewed();
  assert.deepEqual([before.code, namesOf(before)], [1, ['run.json']]);
  assert.equal((await golden('approve', path)).code, 2, 'somebody has to vouch');
  const { code, stdout } = await golden('approve', path, '--by', 'Ada', '--note', 'seen', '--json');
  assert.equal(code, 0);
  assert.equal((JSON.parse(stdout) as { by: string }).by, 'Ada');
  const approved = await readGolden(path);
  assert.equal(approved.approval?.note, 'seen');
  assert.deepEqual(namesOf(await unreviewed()), []);
  await writeGolden(path, { ...approved, description: 'another one' });
  assert.deepEqual(namesOf(await unreviewed()), ['run.json']);
  await writeFile(path, (await readFile(path, 'utf8')).replace('another one', 'edited'));
  assert.equal((await golden('approve', path, '--by', 'Ada')).code, 1, 'not one that was edited by hand');
});

test('golden list --mutate counts the changed runs that each golden catches', async () => {
  const { stdout } = await golden('list', join(LIBRARY, 'openai'), '--mutate', '--json');
  const { goldens } = JSON.parse(stdout) as {
    goldens: { file: string; effectiveness: { tried: number; caught: number; missed: string[] } }[];
  };
  for (const { file, effectiveness } of goldens) {
    assert.equal(effectiveness.caught + effectiveness.missed.length, effectiveness.tried, file);
    assert.ok(effectiveness.caught > 0, file);
  }
  const strict = await readGolden(join(LIBRARY, 'openai/happy_path_customer_lookup.json'));
  assert.deepEqual(computeEffectiveness(strict).missed, ['it takes an hour more']);
  const loose = computeEffectiveness({
    ...strict,
    comparison: { final_answer: { check: 'any' }, matchers: {}, bounds: {} },
  });
  assert.deepEqual(
    loose.missed,
    [
      'the answer says something else',
      'there is no answer',
      'it uses ten times the tokens',
      'it takes an hour more',
    ],
    'rules that allow more catch less',
  );
});

test('golden scenarios names the providers without a key, and refuses what it cannot do', async () => {
  const none = await golden('scenarios', '--out', join(folder, 'none'), '--provider', 'nobody');
  assert.equal(none.code, 2);
  assert.equal((await golden('scenarios')).code, 2);
  assert.equal((await golden('scenarios', '--out', folder, '--model', 'm')).code, 2);
});

longTest('golden scenarios records four runs over a database and files', async () => {
  await using model = await ScriptedProvider.start(() => ({ text: 'Nothing to do.' }));
  const args = [
    '--out',
    join(folder, 'scenarios'),
    '--provider',
    'openai',
    '--base-url',
    model.baseUrl('openai'),
    '--json',
  ];
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const env = { OPENAI_API_KEY: 'k' };
  const code = await runCli(['golden', 'scenarios', ...args], {
    stdin: Readable.from([]),
    stdout,
    stderr,
    env,
  });
  stdout.end();
  const runs = (await text(stdout))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { path: string });
  assert.deepEqual([code, runs.length], [0, 4]);
  const recorded = await readGolden(runs[0]?.path ?? '');
  const connection = recorded.mcp_cassette?.servers.database?.connections[0];
  assert.equal(connection?.outcome, 'ready');
  assert.equal(recorded.source, 'scripted', 'the base URL is not the provider');
});
