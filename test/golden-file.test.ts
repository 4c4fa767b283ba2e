import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  formatGolden,
  type Golden,
  inspectGolden,
  parseGolden,
  readGolden,
  sealGolden,
  writeGolden,
} from '../src/golden/index.ts';

const INVOICE_REVIEW = new URL('../../goldens/openai/invoice_review.json', import.meta.url);
const folder = await mkdtemp(join(tmpdir(), 'golden-file-'));
after(() => rm(folder, { recursive: true }));

async function fileWith(text: string): Promise<string> {
  const file = join(folder, 'one.json');
  await writeFile(file, text);
  return file;
}

test('a golden is written as it is read, with each event of a stream on a line of its own', async () => {
  const text = await readFile(INVOICE_REVIEW, 'utf8');
  const golden = await readGolden(INVOICE_REVIEW);
  assert.equal(formatGolden(golden), text);
  const [exchange] = golden.provider_responses;
  assert.ok(exchange);
  const events = [{ data: { a: { b: [1, 2] } } }, { event: 'done', data: '' }, { raw: ': ping' }];
  const streamed: Golden = {
    ...golden,
    provider_responses: [{ ...exchange, response: { status: 200, headers: {}, events } }],
  };
  const file = join(folder, 'new/streamed.json');
  const written = await writeGolden(file, streamed);
  assert.deepEqual(await readGolden(file), written);
  const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim());
  for (const event of events)
    assert.ok(lines.some((line) => line.replace(/,$/, '') === JSON.stringify(event)));
});

test('a golden that is missing, truncated, no JSON or no golden is refused with its name and the reason', async () => {
  const text = await readFile(INVOICE_REVIEW, 'utf8');
  const golden = JSON.parse(text) as Golden;
  const { input: _, ...withoutInput } = golden;
  const [first] = golden.provider_responses;
  const bothBodies = { ...first, response: { ...first?.response, text: 'and more' } };
  const cases: [string, RegExp][] = [
    [text.slice(0, text.length / 2), /one\.json is truncated/],
    ['{"a": }', /one\.json is no JSON/],
    ['[]', /one\.json is not a golden: the value must be object/],
    [JSON.stringify(withoutInput), /must have required property 'input'/],
    [JSON.stringify({ ...golden, source: 'real' }), /\/source must be equal to one of/],
    [JSON.stringify({ ...golden, provider_responses: [{}] }), /\/provider_responses\/0 must have/],
    [
      JSON.stringify({ ...golden, provider_responses: [bothBodies] }),
      /\/provider_responses\/0\/response must/,
    ],
  ];
  for (const [content, message] of cases) {
    await assert.rejects(readGolden(await fileWith(content)), { code: 'GOLDEN_UNREADABLE', message });
  }
  await assert.rejects(readGolden(join(folder, 'none.json')), {
    code: 'GOLDEN_UNREADABLE',
    message: /none\.json/,
  });
});

test('a golden of a newer form is refused before anything else is looked at', () => {
  assert.throws(() => parseGolden('{"format_version": 2, "wholly": "new"}', 'x.json'), {
    code: 'GOLDEN_TOO_NEW',
    message: /format version 2.*up to 1; update/,
  });
});

test('a golden edited by hand is refused, and the message names the place', async () => {
  const text = await readFile(INVOICE_REVIEW, 'utf8');
  const edits: [string, string, string][] = [
    ['"test_name": "invoice_review"', '"test_name": "renamed"', 'test_name'],
    ['chatcmpl-scripted-2', 'chatcmpl-other', 'provider_responses[1].response'],
    ['"payment_risk_check",', '"payment_risk_chek",', 'golden_output.tool_chain[0]'],
    ['Pay invoice INV-92311 now.', 'Pay invoice INV-1 now.', 'input'],
  ];
  for (const [from, to, place] of edits) {
    const file = await fileWith(text.replace(from, to));
    await assert.rejects(readGolden(file), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'GOLDEN_EDITED');
      assert.ok(error.message.includes(`at ${place}`), error.message);
      return true;
    });
    const { problems } = await inspectGolden(file);
    assert.deepEqual(
      problems.map((problem) => problem.code),
      ['GOLDEN_EDITED'],
    );
    await readGolden(file, { allowEdited: true });
  }
});

test('other white space is no edit', async () => {
  await readGolden(await fileWith(JSON.stringify(JSON.parse(await readFile(INVOICE_REVIEW, 'utf8')))));
});

test('a golden past its date is refused, unless it is asked for', async () => {
  const golden = await readGolden(INVOICE_REVIEW);
  const file = await fileWith(formatGolden(sealGolden({ ...golden, expires_at: '2026-01-01T00:00:00Z' })));
  const now = new Date('2026-01-01T00:00:00Z');
  await assert.rejects(readGolden(file, { now }), {
    code: 'GOLDEN_EXPIRED',
    message: /one\.json expired at 2026-01-01T00:00:00Z/,
  });
  await readGolden(file, { now, allowExpired: true });
  await readGolden(file, { now: new Date('2025-12-31T23:59:59Z') });
});
