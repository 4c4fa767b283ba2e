import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { goldenCompareCommand } from '../src/cli/golden/compare.ts';
import { goldenListCommand } from '../src/cli/golden/list.ts';
import { listGoldens } from '../src/cli/golden/listing.ts';
import { sideBySide } from '../src/cli/golden/side-by-side.ts';
import { type Golden, sealGolden, writeGolden } from '../src/golden/index.ts';
import { runCommand } from './support/run-command.ts';
import { storyGolden } from './support/story-golden.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'golden-library-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const TOOL = { name: 'query', inputSchema: { type: 'object' } };

/** The golden with servers: two tools, of which one is called, and a call that ended with `outcome`. */
function withCassette(golden: Golden, outcome: 'result' | 'timeout'): Golden {
  return sealGolden({
    ...golden,
    mcp_cassette: {
      servers: {
        shop: {
          connections: [
            {
              outcome: 'ready',
              sdk: 'v1',
              protocol_version: null,
              server_info: null,
              capabilities: {},
              instructions: null,
              tool_lists: [[TOOL, { ...TOOL, name: 'drop_table' }]],
            },
          ],
        },
        mailer: { connections: [{ outcome: 'failed', error: 'not there' }] },
      },
      calls: [
        {
          server: 'shop',
          tool: 'query',
          arguments: {},
          outcome,
          ...(outcome === 'result' ? { result: { content: [], isError: true } } : { message: 'no answer' }),
          duration_ms: 5,
        },
      ],
    },
  });
}

async function library(): Promise<string> {
  const at = await mkdtemp(join(folder, 'library-'));
  await writeGolden(join(at, 'openai', 'errors.json'), withCassette(storyGolden(), 'result'));
  await writeGolden(join(at, 'openai', 'old.json'), {
    ...withCassette(storyGolden(), 'timeout'),
    expires_at: '2020-01-01T00:00:00.000Z',
  });
  await mkdir(join(at, 'shared'));
  await writeFile(join(at, 'shared', 'tools.json'), '{"shop":{"tools":[]}}');
  return at;
}

test('a library is listed with ages, expiry, and what it covers and does not', async () => {
  const at = await library();
  const { goldens, unreadable, coverage } = await listGoldens(at);
  assert.deepEqual(
    goldens.map(({ file, expired }) => [file, expired]),
    [
      [join('openai', 'errors.json'), false],
      [join('openai', 'old.json'), true],
    ],
  );
  assert.deepEqual(unreadable, []);
  assert.deepEqual(coverage.tools, { 'shop.query': 2, 'shop.read_archive': 2, 'shop.drop_table': 0 });
  const { rate_limit, tool_error, timeout, server_unavailable, truncated } = coverage.errorKinds;
  assert.deepEqual([rate_limit, tool_error, timeout, server_unavailable, truncated], [2, 1, 1, 2, 0]);
});

test('list names what is not covered, and fails for what cannot be read; --strict also for what has expired', async () => {
  const at = await library();
  const fine = await runCommand(goldenListCommand, [at]);
  assert.equal(fine.code, 0);
  assert.match(fine.stdout, /old\.json .* expired/);
  assert.match(fine.stdout, /Tools .*shop\.query ×2.*; not covered: shop\.drop_table/);
  assert.match(fine.stdout, /Trouble .*rate limit ×2.*; not covered: .*truncated/);
  assert.equal((await runCommand(goldenListCommand, [at, '--strict'])).code, 1);
  await writeFile(join(at, 'openai', 'torn.json'), '{"test_name": "to');
  const torn = await runCommand(goldenListCommand, [at]);
  assert.equal(torn.code, 1);
  assert.match(torn.stdout, /✖ openai.torn\.json: .*truncated/);
  const json = await runCommand(goldenListCommand, [at, '--json']);
  const [row] = json.rows as { goldens: { error_kinds: string[] }[]; unreadable: unknown[] }[];
  assert.deepEqual(row?.goldens[0]?.error_kinds, ['rate_limit', 'server_unavailable', 'tool_error']);
  assert.equal(row?.unreadable.length, 1);
});

test('a folder that is not there is bad usage; an empty one says so', async () => {
  await assert.rejects(runCommand(goldenListCommand, [join(folder, 'nowhere')]), { code: 'INVALID_OPTION' });
  const empty = await mkdtemp(join(folder, 'empty-'));
  assert.match((await runCommand(goldenListCommand, [empty])).stdout, /^No goldens in /);
});

test('the refusals of every provider count as trouble', async () => {
  const at = await mkdtemp(join(folder, 'refusals-'));
  const refusing = (path: string, body: object): Golden => {
    const golden = storyGolden();
    const [, exchange] = golden.provider_responses;
    assert.ok(exchange);
    const { request, response } = exchange;
    return {
      ...golden,
      provider_responses: [{ ...exchange, request: { ...request, path }, response: { ...response, body } }],
    };
  };
  const message = { role: 'assistant', content: null, refusal: 'I cannot.' };
  const bodies: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { choices: [{ index: 0, message, finish_reason: 'stop' }] }],
    ['/v1/messages', { type: 'message', content: [], stop_reason: 'refusal' }],
    ['/v1beta/models/g:generateContent', { candidates: [{ finishReason: 'SAFETY' }] }],
  ];
  for (const [index, [path, body]] of bodies.entries()) {
    await writeGolden(join(at, `${index}.json`), refusing(path, body));
  }
  const { coverage } = await listGoldens(at);
  assert.equal(coverage.errorKinds.refused, 3);
});

/** The story of another provider, in its own wire form, with one argument and the recovery changed. */
function otherProvider(change: (golden: Golden) => Partial<Golden> = () => ({})): Golden {
  const golden = storyGolden();
  const input = { ...golden.input, provider: 'anthropic', model: 'claude' };
  const versions = { ...golden.versions, models: ['claude'] };
  return { ...golden, input, versions, ...change(golden) };
}

test('two providers that did the same are the same, whatever they cost', () => {
  const { differences, inputDifferences, calls, answerOverlap } = sideBySide(storyGolden(), otherProvider());
  assert.deepEqual([differences, inputDifferences, answerOverlap], [[], [], 1]);
  assert.deepEqual(
    calls.map(({ tool, verdict }) => [tool, verdict]),
    [
      ['shop.query', 'same'],
      ['shop.read_archive', 'same'],
    ],
  );
});

test('another call, other arguments, another outcome and other words are distinguished', () => {
  const other = otherProvider(({ golden_output: output }) => {
    const [first, second] = output.tool_chain as [object, object];
    const tool_chain = [
      { ...first, arguments: { sql: 'SELECT 1' } },
      { ...first, tool_name: 'shop.count' },
      { ...second, success: true, error: null },
    ];
    return {
      golden_output: {
        ...output,
        tool_chain,
        errors: [],
        final_result: 'Three orders.',
        execution_metadata: { stop_reason: 'loop' },
        success: false,
      },
    };
  });
  const { differences, calls, answerOverlap } = sideBySide(storyGolden(), other);
  assert.deepEqual(
    calls.map(({ tool, verdict }) => [tool, verdict]),
    [
      ['shop.query', 'arguments'],
      ['shop.count', 'only_b'],
      ['shop.read_archive', 'outcome'],
    ],
  );
  assert.deepEqual(differences, [
    'the outcome: completed, loop',
    '1 tool call that only one of them made',
    'the arguments of 1 paired calls',
    'whether 1 paired calls failed',
    'the recoveries: retry with modified arguments, none',
  ]);
  assert.ok(answerOverlap !== null && answerOverlap < 0.5);
});

test('compare prints both sides, says when the task is not the same, and ends with 1 for a difference', async () => {
  const [a, b, c] = ['a.json', 'b.json', 'c.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeGolden(a, storyGolden());
  await writeGolden(b, otherProvider());
  await writeGolden(
    c,
    otherProvider(({ golden_output }) => ({ golden_output: { ...golden_output, tool_chain: [] } })),
  );
  const same = await runCommand(goldenCompareCommand, [a, b]);
  assert.equal(same.code, 0);
  assert.match(same.stdout, /A {2}openai gpt-4o-2024-08-06 +B {2}anthropic claude/);
  assert.match(same.stdout, /✔ the same behavior; the answers share 100 % of their words/);
  const different = await runCommand(goldenCompareCommand, [a, c]);
  assert.equal(different.code, 1);
  const asked = otherProvider(({ input }) => ({ input: { ...input, provider: 'x', user_prompt: 'Other' } }));
  await writeGolden(c, asked);
  assert.match(
    (await runCommand(goldenCompareCommand, [a, c])).stdout,
    /Not the same task: user_prompt differ/,
  );
  const json = await runCommand(goldenCompareCommand, [a, b, '--json']);
  assert.equal(json.rows[0]?.same, true);
  await assert.rejects(runCommand(goldenCompareCommand, [a]), /Expected two goldens/);
});
