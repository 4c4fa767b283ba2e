import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { formatStory, storyToWire, tellStory } from '../src/cli/golden/inspect/index.ts';
import { goldenInspectCommand } from '../src/cli/golden/inspect.ts';
import { listGoldens } from '../src/cli/golden/listing.ts';
import { printable, wrapLines } from '../src/cli/terminal/index.ts';
import { detectDrift, inspectGolden, writeGolden } from '../src/golden/index.ts';
import { runCommand } from './support/run-command.ts';
import { sized } from './support/size.ts';
import { storyGolden } from './support/story-golden.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'golden-inspect-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const LIBRARY = fileURLToPath(new URL('../../goldens', import.meta.url));
const PLAIN = {
  paint: (_style: string, text: string) => text,
  width: 100,
  full: false,
  now: new Date('2026-11-02T10:00:00Z'),
};

test('a golden is shown step by step: instructions, task, tries, calls with results, notices, answer', () => {
  const story = tellStory(storyGolden());
  assert.deepEqual(
    story.steps.map((step) => step.kind),
    ['system', 'user', 'model', 'model', 'tool', 'model', 'tool', 'notice', 'model'],
  );
  const [, , refused, called, query] = story.steps;
  assert.ok(refused?.kind === 'model' && called?.kind === 'model' && query?.kind === 'tool');
  assert.equal(refused.failure, 'http 429: Rate limit reached for gpt-4o');
  assert.equal(called.attempt, 2);
  assert.equal(called.text, 'I look at the orders first.');
  assert.equal(called.calls[0]?.name, 'shop__query');
  assert.equal(query.name, 'shop.query');
  assert.equal(query.ms, 120);
});

test('tokens, cost and time are added up over what was answered', () => {
  const { totals } = tellStory(storyGolden());
  assert.deepEqual(
    { ...totals, costUsd: undefined },
    {
      turns: 3,
      toolCalls: 2,
      failedToolCalls: 1,
      promptTokens: 380 + 560 + 830,
      completionTokens: 3 * 46,
      costUsd: undefined,
      modelMs: 40 + 800 + 1100 + 1900,
      elapsedMs: undefined,
      toolMs: 360,
    },
  );
  // gpt-4o: 2.50 dollars a million in, 10 out.
  assert.ok(Math.abs((totals.costUsd ?? 0) - (1770 * 2.5 + 138 * 10) / 1e6) < 1e-12);
});

test('a cost that one answer does not tell is unknown, not less', () => {
  const golden = storyGolden();
  const [first, second, ...rest] = golden.provider_responses;
  assert.ok(first && second);
  const body = { ...(second.response.body as object), usage: null };
  const provider_responses = [first, { ...second, response: { ...second.response, body } }, ...rest];
  const { totals } = tellStory({ ...golden, provider_responses });
  assert.equal(totals.costUsd, undefined);
  assert.equal(totals.promptTokens, undefined);
});

test('failure points name the step, the error and what was done about it', () => {
  const { failures } = tellStory(storyGolden());
  assert.deepEqual(
    failures.map(({ step, what, recovery }) => [step, what, recovery]),
    [
      [3, 'gpt-4o, turn 1', undefined],
      [7, 'shop.read_archive', 'retry with modified arguments'],
      [undefined, 'mailer', undefined],
    ],
  );
});

test('an answer that was cut off or refused is a failure point', () => {
  for (const [reason, message] of [
    ['length', /cut off/],
    ['content_filter', /blocked/],
  ] as const) {
    const golden = storyGolden();
    const last = golden.provider_responses.at(-1);
    const body = structuredClone(last?.response.body) as { choices: { finish_reason: string }[] };
    for (const choice of body.choices) choice.finish_reason = reason;
    const provider_responses = golden.provider_responses.map((exchange) =>
      exchange === last ? { ...exchange, response: { ...exchange.response, body } } : exchange,
    );
    const { failures, steps } = tellStory({ ...golden, provider_responses });
    assert.ok(
      failures.some(({ step, message: said }) => step === steps.length && message.test(said)),
      reason,
    );
  }
});

test('text of tools cannot steer the terminal, and long texts are cut unless --full', () => {
  const story = tellStory(storyGolden({ resultChars: 50_000 }));
  const text = formatStory(story, PLAIN);
  assert.equal(stripVTControlCharacters(text), text);
  assert.ok(!text.includes('\u202e'));
  assert.match(text, /\\u001b\[2J/);
  assert.match(text, /more characters; --full shows them/);
  const full = formatStory(story, { ...PLAIN, full: true });
  assert.ok(!full.includes('more character'));
  assert.ok(full.includes('customer 833'));
});

test('printable keeps letters of every script, and breaks no pair when lines are wrapped', () => {
  const kept = 'a\tb\nü 漢字 👩‍👩‍👧 ❤️ می‌خواهم क्‍ष';
  assert.equal(printable(kept), kept);
  assert.equal(printable('a\r\nb\r\u0007\u009b'), 'a\nb\\u000d\\u0007\\u009b');
  assert.equal(printable('pay\u200bpal\u200d\ufeff \u{e0041}'), 'pay\\u200bpal\\u200d\\ufeff \\udb40\\udc41');
  const { lines, left } = wrapLines('👍'.repeat(60), 41, 2);
  assert.deepEqual([lines.map((line) => line.length), left], [[40, 40], 40]);
  assert.ok(lines.every((line) => /^(?:👍)+$/u.test(line)));
});

test('inspect prints text or JSON', async () => {
  const file = join(folder, 'orders.json');
  await writeGolden(file, storyGolden());
  const text = await runCommand(goldenInspectCommand, [file]);
  assert.equal(text.code, 0);
  assert.match(text.stdout, /Where it went wrong \(3\)/);
  const json = await runCommand(goldenInspectCommand, [file, '--json']);
  assert.deepEqual(json.rows, [JSON.parse(JSON.stringify(storyToWire(tellStory(storyGolden()))))]);
});

test('every golden of the library is shown completely: each call of its chain in order', async () => {
  const { goldens } = await listGoldens(LIBRARY);
  assert.ok(goldens.length > 0);
  for (const { file } of goldens.filter((_, i) => i % sized(3, 1) === 0)) {
    const { golden } = await inspectGolden(join(LIBRARY, file));
    const story = tellStory(golden);
    const chain = (golden.golden_output.tool_chain ?? []) as { tool_name?: string }[];
    if (golden.runner === 'mcp_ghost') {
      const told = story.steps.flatMap((step) => (step.kind === 'tool' ? [step.name] : []));
      assert.deepEqual(
        told,
        chain.map(({ tool_name }) => tool_name),
        file,
      );
    }
    const models = story.steps.filter(({ kind }) => kind === 'model');
    assert.equal(models.length, golden.provider_responses.length, file);
    assert.deepEqual(detectDrift(golden, golden).findings, [], file);
  }
});

test('bad usage is reported: no file, two files, an invalid width', async () => {
  for (const args of [[], ['a.json', 'b.json'], ['a.json', '--width', 'wide']]) {
    await assert.rejects(runCommand(goldenInspectCommand, args), /Expected|GOLDEN_UNREADABLE|Cannot read/);
  }
});

test('an edited golden is shown with its problem', async () => {
  const file = join(folder, 'edited.json');
  const golden = await writeGolden(file, storyGolden());
  await writeFile(file, JSON.stringify({ ...golden, description: 'changed' }));
  const { stdout, code } = await runCommand(goldenInspectCommand, [file]);
  assert.equal(code, 0);
  assert.match(stdout, /! The golden .* was changed after it was written, at description/);
});
