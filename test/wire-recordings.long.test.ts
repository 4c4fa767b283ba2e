/** Every recorded answer, and every form of answer that was once misread, read in all ways. */
// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { type AnswerRow, answerRows } from './support/answer-rows.ts';
import { closeWays, throughAdapter, throughReader, throughSpan } from './support/answer-ways.ts';
import { type Said, truthOf } from './support/recorded-truth.ts';
import { type Exchange, exchanges, hasCassettes } from './support/recordings.ts';

after(closeWays);

const skip = hasCassettes ? false : 'the recordings are not there; set OBSERVATORY_DATA';
const recorded = hasCassettes ? exchanges(['openai', 'anthropic', 'gemini', 'errors']) : [];
/** Counting tokens is no model call. */
const COUNTS = /^(?:messages\.count_tokens|countTokens)$/;
const calls = recorded.filter(({ api }) => !COUNTS.test(api));

/** Reads each exchange in one way and compares it with what is so; says how many, so that none is left out unseen. */
async function compare<Row extends Exchange>(
  t: TestContext,
  rows: readonly Row[],
  read: (exchange: Row) => Promise<Said> | Said,
  expected: (exchange: Row) => Said,
): Promise<void> {
  const misses: string[] = [];
  for (const row of rows) {
    try {
      assert.deepEqual(plain(await read(row)), plain(expected(row)));
    } catch (error) {
      misses.push(`${row.id} (${row.api}): ${error instanceof Error ? error.message : error}`);
    }
  }
  t.diagnostic(`${rows.length - misses.length} of ${rows.length} answers`);
  assert.deepEqual(misses, []);
}

/** Without fields that are undefined, and no usage where there is no count. */
function plain(said: Said): unknown {
  const { usage, ...rest } = JSON.parse(JSON.stringify(said)) as Said;
  return { ...rest, usage: usage ?? {} };
}

test('the recordings are all there', { skip }, () => {
  assert.equal(recorded.length, 173);
  assert.equal(calls.length, 169);
});

test('the adapters of the orchestrator read every recorded answer as it is', { skip }, async (t) => {
  await compare(t, calls, throughAdapter, (exchange) => orError(truthOf(exchange)));
});

test('the spans of the SDKs say of every recorded answer what it says', { skip }, async (t) => {
  await compare(t, calls, (exchange) => throughSpan(exchange), truthOf);
});

test("the spans of Anthropic's own tracing say the same", { skip }, async (t) => {
  const rows = calls.filter(({ provider }) => provider === 'anthropic');
  await compare(t, rows, (exchange) => throughSpan(exchange, 'native'), truthOf);
});

test('the reader of result objects reads every whole answer as it is', { skip }, async (t) => {
  const rows = calls.filter(({ response }) => response.status === 200 && response.sse === undefined);
  await compare(t, rows, throughReader, (exchange) => ({ ...truthOf(exchange), ...UNREAD }));
});

/** What the reader of result objects does not read. */
const UNREAD = { costUsd: undefined, reasoning: '' } as const;

/** An adapter throws where an answer is an error. */
function orError(said: Said): Said {
  const { error } = said;
  return error === undefined ? said : { error, text: '', reasoning: '', calls: [], finishReasons: [] };
}

const rows = answerRows();

test('the adapters of the orchestrator read every odd form of answer', async (t) => {
  await compare(t, rows, throughAdapter, ({ said }) => orError(said));
});

test('the spans of the SDKs say of every odd form of answer what it says', async (t) => {
  await compare(
    t,
    rows,
    (row) => throughSpan(row),
    ({ said }) => said,
  );
});

test("the spans of Anthropic's own tracing say the same of odd forms", async (t) => {
  // The SDK writes the counts of its own span as they come, and whether it failed.
  const own = /^(?:counts that are|an error with status 200, whole)/;
  const native = rows.filter(({ provider, id }) => provider === 'anthropic' && !own.test(id));
  assert.equal(native.length, 16);
  await compare(
    t,
    native,
    (row) => throughSpan(row, 'native'),
    ({ said }) => said,
  );
});

test('the reader of result objects reads every odd form of a whole answer', async (t) => {
  const whole = rows.filter(({ response, said }) => response.sse === undefined && said.error === undefined);
  await compare(t, whole, throughReader, ({ said }: AnswerRow) => ({ ...said, ...UNREAD }));
});
