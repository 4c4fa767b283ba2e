import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { commandIo } from '../src/cli/command-line/index.ts';
import { scoreCommand } from '../src/cli/score.ts';
import { instrument } from '../src/execution/index.ts';
import { attachInteraction } from '../src/interaction/index.ts';
import { parseLines, runCommand } from './support/command.ts';
import { observe } from './support/observed.ts';
import { spanToRow } from './support/span-row.ts';

async function scoreLines(input: string | Uint8Array | Iterable<string | Uint8Array>, args: string[] = []) {
  const { code, stdout } = await runCommand(scoreCommand, args, input);
  return { code, rows: parseLines(stdout) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const CALL = { prompt: 'Hello 42', answer: 'hi' };

test('a scored line has every field, null where it has no value', async () => {
  const { code, rows } = await scoreLines(`${JSON.stringify({ id: 'a', ...CALL })}\n`);
  assert.equal(code, 0);
  assert.deepEqual(rows, [
    {
      id: 'a',
      // printf 'Hello 42' | sha256sum; likewise 'hello <number>' and 'hi'
      prompt_hash: '3373413a5fc0a2798c9c224163b1eca9cbe68e67f4a7d8d0ad99930549094307',
      normalized_prompt_hash: '4dc0861b294c3b00c0eeed6391331b108746b0cad537b0daf96704451fc86dbc',
      answer_hash: '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4',
      prompt_size_chars: 8,
      prompt_tokens: 2,
      completion_tokens: 1,
      tokens_estimated: true,
      cost_usd: null,
      evidence_risk_score: null,
      evidence_risk_level: null,
      evidence_support: null,
      evidence_findings: null,
      cost_source: 'unknown',
      grounding_score: null,
      verifier_score: 1,
      verifier_reason: 'ok',
      self_consistency_score: null,
      numeric_variance_score: 0,
      tool_claim_mismatch: null,
      hallucination_risk_score: 0,
      hallucination_risk_level: 'low',
    },
  ]);
});

test('fields that nothing reads are named, and the line is scored', async () => {
  const steps = [{ tool: 'a', result: 'x', isError: true }];
  const lines = [{ ...CALL, retreived_context: 'x', steps }, { ...CALL, retreived_context: 'x' }, CALL];
  const { code, stdout, stderr } = await runCommand(
    scoreCommand,
    [],
    lines.map((line) => JSON.stringify(line)).join('\n'),
  );
  assert.equal(code, 0);
  assert.deepEqual(
    parseLines(stdout).map((row) => row.unknown_fields),
    [['retreived_context', 'steps.isError'], ['retreived_context'], undefined],
  );
  assert.equal(
    stderr,
    "score: line 1: nothing reads 'retreived_context'; the nearest is 'retrieved_context'\n" +
      "score: line 1: nothing reads 'steps.isError'; the nearest is 'steps.is_error'\n",
  );
});

test('--explain shows which words are contradicted and why, and no text of the input controls the terminal', async () => {
  const steps = [{ tool: 'cancel\u001b[2J', arguments: { id: 7 }, result: 'conflict', is_error: true }];
  const call = {
    id: 'a',
    prompt: 'Cancel order 7.',
    answer: '👍\u001b[31m Hi. Order 7 has been cancelled.',
    steps,
  };
  const input = `${JSON.stringify(call)}\n${JSON.stringify({ ...CALL, id: 'b' })}\n{"id": "c"}\n`;
  const { code, stdout } = await runCommand(scoreCommand, ['--explain'], input);
  assert.equal(code, 1);
  assert.ok(stdout.includes('"a": evidence risk 0.97 (high)'), stdout);
  assert.ok(stdout.includes('[[Order 7 has been cancelled.]](1)'), stdout);
  assert.ok(stdout.includes('[1] says "Order 7 has been cancelled.", but cancel'), stdout);
  assert.ok(stdout.includes('failed: conflict (tool_failed_claimed_success, call 1)'), stdout);
  assert.ok(stdout.includes('"b": no evidence'));
  assert.ok(stdout.includes('INVALID_INPUT'));
  assert.ok(!stdout.includes('\u001b'));
  await assert.rejects(
    runCommand(scoreCommand, ['--explain', '--verifier', 'heuristic'], input),
    /--explain/,
  );
});

test('--report prints the form of a row, and none of its words', async () => {
  const steps = [{ tool: 'cancel_order', arguments: { id: 7 }, result: 'conflict', is_error: true }];
  const line = JSON.stringify({ prompt: 'Cancel Ada.', answer: 'Order 7 has been cancelled.', steps });
  const { stdout } = await runCommand(scoreCommand, ['--report'], `${line}\n`);
  const row = JSON.parse(stdout);
  assert.equal(row.answer, 'Xxxxx 0 xxx xxxx xxxxxxxxx.');
  assert.equal(row.prompt, 'Xxxxxx Xxx.');
  assert.deepEqual(row.steps, [
    { tool: 'cancel_order', arguments: { id: 1 }, result: 'xxxxxxxx', is_error: true },
  ]);
  assert.equal(row.evidence_findings[0].kind, 'tool_failed_claimed_success');
});

test('--verifier decides whether the evidence counts in the composite, and whether it is there at all', async () => {
  const steps = [{ tool: 'cancel_order', arguments: { id: 7 }, result: 'conflict', is_error: true }];
  const line = JSON.stringify({ prompt: 'Cancel order 7.', answer: 'Order 7 has been cancelled.', steps });
  const rowOf = async (args: string[]) => (await scoreLines(`${line}\n`, args)).rows[0] ?? assert.fail();
  const [usual, evidence, heuristic] = [
    await rowOf([]),
    await rowOf(['--verifier', 'evidence']),
    await rowOf(['--verifier', 'heuristic']),
  ];
  assert.deepEqual(usual, evidence);
  assert.equal(evidence.evidence_risk_level, 'high');
  assert.equal(evidence.verifier_reason, 'tool_failed_claimed_success');
  assert.ok(Number(evidence.hallucination_risk_score) > Number(heuristic.hallucination_risk_score));
  assert.deepEqual(
    Object.keys(heuristic).filter((name) => name.startsWith('evidence_')),
    [],
  );
});

test('lines that cannot be scored say why under their id, and the rest goes on', async () => {
  const { code, rows } = await scoreLines(
    [
      '{"id": 7, "prompt": "p"}',
      'not json',
      '[1]',
      '',
      '{"id": {"deep": 1}, "prompt": 5, "answer": "a"}',
      '{"id": 0, "prompt": "p", "answer": "a", "prompt_tokens": -1}',
      '{"prompt": "p", "answer": "a", "completion_tokens": 1.5}',
      '{"prompt": "p", "answer": "a", "retrieved_context": ["x"]}',
      '{"id": "last", "prompt": "p", "answer": "a"}',
    ].join('\n'),
  );
  assert.equal(code, 1);
  const outcome = rows.map((row) => {
    const error = row.error as { code: string; message: string } | undefined;
    return [row.id, row.line, error?.code, error?.message];
  });
  assert.deepEqual(outcome.slice(0, 1), [[7, 1, 'INVALID_INPUT', 'Expected `answer`, got none']]);
  assert.deepEqual(outcome[1]?.slice(0, 3), [null, 2, 'INVALID_INPUT']);
  assert.deepEqual(outcome.slice(2), [
    [null, 3, 'INVALID_INPUT', 'Expected a JSON object on the line, got an array'],
    [{ deep: 1 }, 5, 'INVALID_INPUT', 'Expected `prompt` to be a string, got a number'],
    [0, 6, 'INVALID_INPUT', 'Expected `prompt_tokens` to be a whole number from 0 up, got -1'],
    [null, 7, 'INVALID_INPUT', 'Expected `completion_tokens` to be a whole number from 0 up, got 1.5'],
    [null, 8, 'INVALID_INPUT', 'Expected `retrieved_context` to be a string, got an array'],
    ['last', undefined, undefined, undefined],
  ]);
});

test('null counts as absent', async () => {
  const absent = { model: null, retrieved_context: null, secondary_answer: null, prompt_tokens: null };
  const { rows } = await scoreLines(`${JSON.stringify({ ...CALL, ...absent })}\n${JSON.stringify(CALL)}\n`);
  assert.deepEqual(rows[0], rows[1]);
  const { rows: refused } = await scoreLines('{"prompt": null, "answer": "a"}');
  assert.equal((refused[0]?.error as { code?: string } | undefined)?.code, 'INVALID_INPUT');
});

test('CRLF, a byte order mark, raw U+2028, and a last line without its end are read as they should be', async () => {
  const prompts = ['a\u2028b', 'c\u2029d\u0085', 'e'];
  const lines = prompts.map((prompt) => JSON.stringify({ prompt, answer: '' }));
  const { code, rows } = await scoreLines(`\ufeff${lines.join('\r\n')}`);
  assert.equal(code, 0);
  assert.deepEqual(
    rows.map((row) => row.prompt_hash),
    prompts.map(sha256),
  );
});

test('characters and lines may be cut anywhere by the chunks they come in', async () => {
  const bytes = Buffer.from(`{"prompt": "naïve 🙂", "answer": "é"}\r\n{"prompt": "ü", "answer": ""}\n`);
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
  assert.deepEqual(await scoreLines(single), await scoreLines(bytes));
});

test('a line that is not UTF-8 is an error, not a different text', async () => {
  const { rows } = await scoreLines(Buffer.from('{"prompt": "\xff", "answer": ""}\n', 'latin1'));
  assert.deepEqual(rows[0], {
    id: null,
    line: 1,
    error: { code: 'INVALID_INPUT', message: 'The line is not valid UTF-8' },
  });
});

test('a line of 5 MB is scored', async () => {
  const prompt = 'lorem ipsum 42 '.repeat(350_000);
  const { code, rows } = await scoreLines(`${JSON.stringify({ prompt, answer: prompt })}\n`);
  assert.equal(code, 0);
  assert.equal(rows[0]?.prompt_hash, sha256(prompt));
  assert.equal(rows[0]?.prompt_size_chars, prompt.length);
});

test('given tokens are kept, and a call with all of them is not estimated', async () => {
  const both = { ...CALL, model: 'gpt-4o', prompt_tokens: 1000, completion_tokens: 100 };
  const one = { ...CALL, model: 'gpt-4o', prompt_tokens: 1000 };
  const { rows } = await scoreLines(`${JSON.stringify(both)}\n${JSON.stringify(one)}\n`, [
    '--at',
    '2026-02-10',
  ]);
  const [first, second] = rows;
  assert.deepEqual([first?.tokens_estimated, second?.tokens_estimated], [false, true]);
  // 1,000 at 2.50 and 100 at 10 dollars per million; "hi" is one token.
  assert.ok(Math.abs((first?.cost_usd as number) - 0.0035) < 1e-12);
  assert.equal(first?.cost_source, 'genai-prices');
  assert.equal(second?.completion_tokens, 1);
});

test('--at prices the call at that time', async () => {
  const line = JSON.stringify({ ...CALL, model: 'o3', prompt_tokens: 1_000_000, completion_tokens: 0 });
  const costs = [];
  for (const at of ['2025-05-01T00:00:00Z', '2025-07-01']) {
    costs.push((await scoreLines(line, ['--at', at])).rows[0]?.cost_usd);
  }
  assert.deepEqual(costs, [10, 2]);
});

test('--prices puts prices of the user before the table', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'score-'));
  try {
    const file = join(folder, 'prices.json');
    const price = { model: 'house-*', input_usd_per_million: 1, output_usd_per_million: 4 };
    writeFileSync(file, JSON.stringify([price]));
    const call = { ...CALL, model: 'House-7b', prompt_tokens: 1_000_000, completion_tokens: 500_000 };
    const { rows } = await scoreLines(JSON.stringify(call), ['--prices', file]);
    assert.deepEqual([rows[0]?.cost_usd, rows[0]?.cost_source], [3, 'override']);

    writeFileSync(file, JSON.stringify([{ ...price, input_usd_per_million: '1' }]));
    const refused = { code: 'INVALID_OPTION', message: /inputUsdPerMillion.*price override 0.*1 \(string\)/ };
    await assert.rejects(scoreLines('', ['--prices', file]), refused);
    writeFileSync(file, '{');
    await assert.rejects(scoreLines('', ['--prices', file]), { code: 'INVALID_OPTION' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('bad usage is refused with the option and the value', async () => {
  for (const [args, message] of [
    [['--nope'], /--nope/],
    [['extra'], /extra/],
    [['--at', 'yesterday'], /--at.*'yesterday'/],
    [['--at', '2026-02-10T12:00:00'], /--at/],
    [['--at', '2026-02-31'], /--at/],
    [['--prices', '/does/not/exist.json'], /--prices.*exist\.json/],
  ] as const) {
    await assert.rejects(runCommand(scoreCommand, args), { code: 'INVALID_OPTION', message });
  }
});

test('--help shows the help and reads nothing', async () => {
  const { code, stdout } = await runCommand(scoreCommand, ['--help'], 'not json');
  assert.equal(code, 0);
  assert.equal(stdout, `${scoreCommand.help}\n`);
});

for (const { name, results } of [
  { name: 'a result', results: [['find_order', 'Order 7 was shipped to Berlin on 4 May.', false]] },
  { name: 'a failure', results: [['find_order', 'permission denied', true]] },
  {
    name: 'both',
    results: [
      ['find_order', 'Order 7 was shipped.', false],
      ['cancel', 'not allowed', true],
    ],
  },
] as const)
  test(`an answer after tool calls has the same scores by every door: ${name}`, async () => {
    const [prompt, answer, model] = [
      'Where is order 7?',
      'Order 7 was shipped to Bonn and is cancelled.',
      'gpt-4o',
    ];
    const steps = results.map(([tool, result, is_error]) => ({
      tool,
      arguments: { id: 7 },
      result,
      is_error,
    }));
    const messages = [
      { role: 'user', parts: [{ type: 'text', content: prompt }] },
      ...steps.flatMap(({ tool, arguments: args, result, is_error }, id) => [
        { role: 'assistant', parts: [{ type: 'tool_call', id: `${id}`, name: tool, arguments: args }] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: `${id}`, response: result, is_error }] },
      ]),
    ];
    const { tracer, span } = observe();
    const output = [{ role: 'assistant', parts: [{ type: 'text', content: answer }], finish_reason: 'stop' }];
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model,
      'gen_ai.input.messages': JSON.stringify(messages),
      'gen_ai.output.messages': JSON.stringify(output),
    };
    tracer.startSpan('chat', { kind: 2, attributes }).end();
    const taken = steps.map(({ is_error: isError, ...step }) => ({ ...step, isError }));
    const beside = observe();
    const bare = beside.tracer.startSpan('chat', { kind: 2 });
    attachInteraction(bare, { model, prompt, steps: taken });
    attachInteraction(bare, { answer });
    bare.end();
    const interceptor = instrument({ serviceName: 'doors' });
    const { record } = await interceptor.recordModelCall({ model, prompt, response: answer, steps: taken });
    await interceptor.shutdown();
    const { rows } = await scoreLines(JSON.stringify({ model, prompt, answer, steps }));
    const {
      groundingScore: grounding_score,
      toolClaimMismatch: tool_claim_mismatch,
      hallucinationRiskScore: hallucination_risk_score,
      evidenceRiskScore: evidence_risk_score,
    } = record.fields;
    const recorded = { grounding_score, tool_claim_mismatch, hallucination_risk_score, evidence_risk_score };
    const [row, attached]: Record<string, unknown>[] = [spanToRow(span()), spanToRow(beside.span())];
    for (const [column, score] of Object.entries(recorded)) {
      assert.equal(row?.[column] ?? undefined, score, `${column} of a span`);
      assert.equal(attached?.[column] ?? undefined, score, `${column} of what is attached`);
      assert.equal(rows[0]?.[column] ?? undefined, score, `${column} of score`);
    }
    assert.equal(typeof recorded.hallucination_risk_score, 'number');
  });

test('reading waits while the output is full, and ends when the reader goes away', {
  timeout: 20_000,
}, async () => {
  const line = `${JSON.stringify(CALL)}\n`;
  let asked = 0;
  const stdin = Readable.from(
    (function* () {
      for (; asked < 100_000; asked += 1) yield line;
    })(),
    { objectMode: false, highWaterMark: 1 },
  );
  const stdout = new PassThrough({ highWaterMark: 1024 });
  const done = scoreCommand.run([], commandIo({ stdin, stdout, stderr: new PassThrough(), env: {} }));
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(asked < 1000, `${asked} lines were read with nobody reading the output`);
  stdout.destroy();
  assert.equal(await done, 0);
  assert.ok(asked < 1000, `${asked} lines were read after the reader had gone`);
});
