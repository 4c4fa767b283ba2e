import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { goldenDriftCommand } from '../src/cli/golden/drift.ts';
import { detectDrift, type Golden, writeGolden } from '../src/golden/index.ts';
import { runCommand } from './support/run-command.ts';
import { storyGolden } from './support/story-golden.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'golden-drift-'));
});
after(() => rm(folder, { recursive: true, force: true }));

type Change = (golden: object) => void;
type Holder = Record<string, unknown>;

/** The golden with one thing changed in a deep copy. */
function changed(...changes: readonly Change[]): Golden {
  const copy = structuredClone(storyGolden());
  for (const change of changes) change(copy);
  return copy;
}

/** Sets a value at a path such as `a.0.b`; undefined removes it. */
function set(path: string, value: unknown): Change {
  const steps = path.split('.');
  const last = steps.pop() as string;
  return (golden) => {
    const holder = steps.reduce<unknown>((at, step) => (at as Holder)[step], golden) as Holder;
    if (value === undefined) delete holder[last];
    else holder[last] = value;
  };
}

/** Body of an answer, by its place among the exchanges; the first is a refusal. */
const body = (index: number): string => `provider_responses.${index}.response.body`;
const MESSAGE = 'choices.0.message';
const CALL = `${MESSAGE}.tool_calls.0.function`;

test('a recording has not drifted from itself', () => {
  assert.deepEqual(detectDrift(storyGolden(), storyGolden()), { verdict: 'none', findings: [] });
});

const CASES: readonly [name: string, level: string, place: RegExp, message: RegExp, change: Change][] = [
  [
    'a new field',
    'info',
    /^response\.service_tier$/,
    /a new field, a string/,
    set(`${body(1)}.service_tier`, 'default'),
  ],
  ['a field that is gone', 'warning', /^response\.created$/, /gone/, set(`${body(1)}.created`, undefined)],
  [
    'a field in a list that is gone',
    'warning',
    /^response\.choices\[\]\.logprobs$/,
    /gone/,
    set(`${body(3)}.choices.0.logprobs`, undefined),
  ],
  [
    'another type',
    'failure',
    /^response\.usage\.prompt_tokens$/,
    /was a number, is a string/,
    set(`${body(1)}.usage.prompt_tokens`, '380'),
  ],
  [
    'a list in place of a text',
    'failure',
    /message\.content$/,
    /was a string, is an array/,
    set(`${body(3)}.${MESSAGE}.content`, [{ type: 'text', text: 'x' }]),
  ],
  [
    'null where there was a value',
    'info',
    /^response\.created$/,
    /was a number, is null/,
    set(`${body(1)}.created`, null),
  ],
  [
    'another kind of object',
    'failure',
    /^response\.object$/,
    /was "chat.completion"/,
    set(`${body(1)}.object`, 'chat.completion.v2'),
  ],
  [
    'another finish reason',
    'failure',
    /finish reason/,
    /was stop, is length/,
    set(`${body(3)}.choices.0.finish_reason`, 'length'),
  ],
  [
    'another tool',
    'failure',
    /tool calls/,
    /was shop__query, is shop__search/,
    set(`${body(1)}.${CALL}.name`, 'shop__search'),
  ],
  ['a call that is gone', 'failure', /tool calls/, /is no call/, set(`${body(1)}.${MESSAGE}.tool_calls`, [])],
  [
    'other arguments',
    'failure',
    /arguments of shop__read_archive/,
    /2023.csv.*2022.csv/,
    set(`${body(2)}.${CALL}.arguments`, '{"path":"/archive/2022.csv"}'),
  ],
  [
    'another status',
    'failure',
    /response\.status/,
    /was 429, is 503/,
    set('provider_responses.0.response.status', 503),
  ],
  [
    'no exchange at all',
    'failure',
    /provider_responses/,
    /was 4 exchanges, is 0/,
    set('provider_responses', []),
  ],
  ['an error less', 'failure', /^errors$/, /read_archive, is none/, set('golden_output.errors', [])],
  ['a run that fails', 'failure', /^success$/, /was true, is false/, set('golden_output.success', false)],
  [
    'far more tokens',
    'warning',
    /completion tokens/,
    /was 46, is 460/,
    set(`${body(1)}.usage.completion_tokens`, 460),
  ],
  [
    'tokens no longer reported',
    'warning',
    /prompt tokens/,
    /not reported/,
    set(`${body(1)}.usage`, undefined),
  ],
  [
    'another snapshot of the model',
    'info',
    /^model$/,
    /gpt-4o-2024-08-06, is gpt-4o-2027/,
    set(`${body(1)}.model`, 'gpt-4o-2027'),
  ],
  [
    'another wording',
    'info',
    /final answer/,
    /worded otherwise/,
    set('golden_output.final_result', 'Three.'),
  ],
  [
    'another content type',
    'failure',
    /content-type/,
    /text\/plain/,
    set('provider_responses.1.response.headers.content-type', 'text/plain'),
  ],
  ['another prompt', 'warning', /input\.user_prompt/, /may be due to it/, set('input.user_prompt', 'Other')],
  [
    'another request',
    'warning',
    /the first request/,
    /may be due to it/,
    set('provider_responses.0.request.body.temperature', 1),
  ],
  [
    'other tools of a server',
    'warning',
    /versions\.tools\.shop/,
    /a new server/,
    set('versions.tools.shop', 'x'),
  ],
  ['another SDK', 'info', /versions\.sdk/, /6\.49\.0, is openai 7/, set('versions.sdk.version', '7.0.0')],
];

for (const [name, level, place, message, change] of CASES) {
  test(`${name} is ${level}, and its place is named`, () => {
    const { findings } = detectDrift(storyGolden(), changed(change));
    const found = findings.find((one) => place.test(one.place) && message.test(one.message));
    assert.equal(found?.level, level, JSON.stringify(findings, null, 1));
  });
}

test('the most severe finding comes first, and one in several exchanges is reported once', () => {
  const after = changed(
    ...[1, 2, 3].map((index) => set(`${body(index)}.service_tier`, 'default')),
    set(`${body(1)}.usage.total_tokens`, 'many'),
  );
  const { verdict, findings } = detectDrift(storyGolden(), after);
  assert.equal(verdict, 'failure');
  assert.deepEqual(
    findings.map(({ level, place, exchanges }) => [level, place, exchanges]),
    [
      ['failure', 'response.usage.total_tokens', [2]],
      ['info', 'response.service_tier', [2, 3, 4]],
    ],
  );
});

/** The golden with one answered exchange of Anthropic's API. */
function anthropic(response: object): Golden {
  const [, exchange] = storyGolden().provider_responses;
  return changed(
    set('input.provider', 'anthropic'),
    set('provider_responses', [structuredClone(exchange)]),
    set('provider_responses.0.request.path', '/v1/messages'),
    set('provider_responses.0.response', { status: 200, headers: {}, ...response }),
  );
}

test('arguments of tools are no form of the provider: their fields give one finding, as behavior', () => {
  const calling = (input: object): Golden =>
    anthropic({
      body: {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't', name: 'query', input }],
        stop_reason: 'tool_use',
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    });
  const { findings } = detectDrift(calling({ limit: 1 }), calling({ limit: 'one', offset: 2 }));
  assert.deepEqual(
    findings.map(({ place }) => place),
    ['arguments of query'],
  );
});

test('events of a stream are held against each other by their type', () => {
  const streamed = (events: object[]): Golden => anthropic({ events: events.map((data) => ({ data })) });
  const start = { type: 'message_start', message: { model: 'm', usage: { input_tokens: 3 } } };
  const ping = { type: 'ping' };
  const stop = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } };
  const { findings } = detectDrift(
    streamed([start, ping, stop]),
    streamed([start, { ...stop, usage: { output_tokens: '2' } }, { type: 'message_stop' }]),
  );
  assert.ok(
    findings.some(
      ({ level, place }) => level === 'failure' && place === 'events[type=message_delta].usage.output_tokens',
    ),
  );
  assert.ok(findings.some(({ level, place }) => level === 'warning' && place === 'events[type=ping]'));
  assert.ok(findings.some(({ level, place }) => level === 'info' && place === 'events[type=message_stop]'));
});

test('two providers are refused, with the command for them', () => {
  const other = changed(set('input.provider', 'gemini'));
  assert.throws(() => detectDrift(storyGolden(), other), /use 'golden compare'/);
});

test('the command exits with 1 from the given level on, and prints places', async () => {
  const file = async (name: string, golden: Golden): Promise<string> => {
    await writeGolden(join(folder, name), golden);
    return join(folder, name);
  };
  const old = await file('old.json', storyGolden());
  const gone = await file('gone.json', changed(set(`${body(1)}.created`, undefined)));
  const same = await runCommand(goldenDriftCommand, [old, old]);
  assert.deepEqual([same.code, same.stdout], [0, 'No drift: the same form, the same behavior\n']);
  const warned = await runCommand(goldenDriftCommand, [old, gone]);
  assert.equal(warned.code, 0);
  assert.match(warned.stdout, /^warning +response\.created +the field is gone \(exchange 2\)$/m);
  assert.equal((await runCommand(goldenDriftCommand, [old, gone, '--fail-on', 'warning'])).code, 1);
  const json = await runCommand(goldenDriftCommand, [old, gone, '--json']);
  assert.equal(json.rows[0]?.verdict, 'warning');
  await assert.rejects(runCommand(goldenDriftCommand, [old, gone, '--fail-on', 'never']), /--fail-on/);
  await assert.rejects(runCommand(goldenDriftCommand, [old]), /Expected two goldens/);
});
