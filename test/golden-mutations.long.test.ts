/** Thirty changes to goldens and behavior. Each must be detected, with a message that names the place. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  formatGolden,
  type GhostOptions,
  type Golden,
  readGolden,
  replayGolden,
  writeGolden,
} from '../src/golden/index.ts';
import { random } from './support/random.ts';

type Json = Record<string, unknown>;
/** A golden that may be written to. */
type Draft = Omit<Golden, 'golden_output'> & { golden_output: Json & Record<string, Json[]> };

const folder = await mkdtemp(join(tmpdir(), 'golden-mutations-'));
after(() => rm(folder, { recursive: true }));
const path = join(folder, 'mutated.json');

const RECOVERY = 'openai/error_recovery_bad_argument';
const PARALLEL = 'gemini/edge_case_parallel_calls';
const CHAIN = 'anthropic/chain_of_five_calls';
const LIMITED = 'anthropic/edge_case_rate_limit';
const LOOP = 'openai/edge_case_loop';
const POLICY = 'shared/policy_allowed_call';

async function draftOf(name: string): Promise<Draft> {
  const file = fileURLToPath(new URL(`../../goldens/${name}.json`, import.meta.url));
  return structuredClone(await readGolden(file)) as unknown as Draft;
}

async function caught(draft: Draft, place: RegExp, options?: Partial<GhostOptions>): Promise<void> {
  await writeGolden(path, draft as unknown as Golden);
  const { findings } = await replayGolden(path, { options });
  assert.ok(findings.length > 0, 'the change passed unseen');
  assert.match(findings.map(({ message }) => message).join('\n'), place);
}

/** Replaces a text everywhere in a value. */
function replaced<T>(value: T, from: string, to: string): T {
  const text = JSON.stringify(value);
  assert.ok(text.includes(from), `there is no ${from}`);
  return JSON.parse(text.replaceAll(from, to)) as T;
}

function at<T>(list: readonly T[] | undefined, index: number): T {
  const item = list?.at(index);
  assert.ok(item !== undefined);
  return item;
}

function swap(list: Json[], left: number, right: number): void {
  const kept = at(list, left);
  list[left] = at(list, right);
  list[right] = kept;
}

/** What a golden holds is changed, and it is sealed again, as if it had been recorded so. */
const OF_GOLDENS: readonly [
  name: string,
  golden: string,
  change: (draft: Draft) => unknown,
  place: RegExp,
][] = [
  [
    'an argument of a call the model makes',
    CHAIN,
    (draft) =>
      Object.assign(draft, {
        provider_responses: [
          replaced(at(draft.provider_responses, 0), '\\"C3\\"', '\\"C4\\"'),
          ...draft.provider_responses.slice(1),
        ],
      }),
    /mcp_cassette\.calls\[0\]\.arguments\.id: expected "C3", got "C4"/,
  ],
  [
    'an argument of a recorded call',
    CHAIN,
    (draft) => Object.assign(at(draft.mcp_cassette?.calls, 1), { arguments: { a: 8, b: 35 } }),
    /mcp_cassette\.calls\[1\]\.arguments\.a: expected 8, got 7/,
  ],
  [
    'a result of a tool',
    CHAIN,
    (draft) =>
      Object.assign(at(draft.mcp_cassette?.calls, 1), {
        result: { content: [{ type: 'text', text: '43' }] },
      }),
    /provider_responses\[2\]\.request\.body\.messages\[4\].*"42".*"43"/s,
  ],
  [
    'an error of a tool that is lost',
    RECOVERY,
    (draft) => Object.assign(at(draft.mcp_cassette?.calls, 0).result ?? {}, { isError: false }),
    /provider_responses\[1\]\.request\.body\.messages\[4\]/,
  ],
  [
    'the order of two calls in the output',
    CHAIN,
    (draft) => swap(draft.golden_output.tool_chain ?? [], 0, 1),
    /tool_chain\[0\]\.tool_name: expected "scenario\.add", got "scenario\.find_customer"/,
  ],
  [
    'the order of two calls of one turn in the output',
    PARALLEL,
    (draft) => swap(draft.golden_output.tool_chain ?? [], 0, 1),
    /tool_chain\[0\]\.arguments\.a: expected 2, got 1/,
  ],
  [
    'the order of two answers of the model',
    CHAIN,
    (draft) => {
      const [first, second] = [at(draft.provider_responses, 0), at(draft.provider_responses, 1)];
      const kept = first.response;
      Object.assign(first, { response: second.response });
      Object.assign(second, { response: kept });
    },
    /provider_responses\[1\]\.request\.body\.messages\[1\]/,
  ],
  [
    'a call that is lost from the output',
    CHAIN,
    (draft) => (draft.golden_output.tool_chain ?? []).pop(),
    /tool_chain\[4\]: expected nothing, got "scenario\.add/,
  ],
  [
    'an error that is lost from the output',
    RECOVERY,
    (draft) => (draft.golden_output.errors ?? []).pop(),
    /errors\[0\]: expected nothing, got "scenario\.find_customer: bad id 17/,
  ],
  [
    'the recovery of an error',
    RECOVERY,
    (draft) => Object.assign(at(draft.golden_output.errors, 0), { recovery_action: 'alternative_tool' }),
    /errors\[0\]\.recovery_action: expected "alternative_tool"/,
  ],
  [
    'the text of an error',
    RECOVERY,
    (draft) => Object.assign(at(draft.golden_output.errors, 0), { error: 'no such customer' }),
    /errors\[0\]\.error: expected "no such customer"/,
  ],
  [
    'the final answer',
    RECOVERY,
    (draft) => Object.assign(draft.golden_output, { final_result: 'Ada lives in Rome.' }),
    /final_result: expected "Ada lives in Rome/,
  ],
  [
    'why the run ended',
    LOOP,
    (draft) => Object.assign(draft.golden_output.execution_metadata ?? {}, { stop_reason: 'completed' }),
    /execution_metadata\.stop_reason: expected "completed", got "loop"/,
  ],
  [
    'who spoke',
    RECOVERY,
    (draft) => (draft.golden_output.conversation_history ?? []).splice(2, 1),
    /conversation_history\[2\]\.role/,
  ],
  [
    'the tokens a provider reports',
    RECOVERY,
    (draft) =>
      Object.assign(draft, {
        provider_responses: replaced(draft.provider_responses, '"prompt_tokens":100', '"prompt_tokens":101'),
      }),
    /execution_metadata\.token_usage\.prompt_tokens: expected 300, got 303/,
  ],
  [
    'why the provider says that its model stopped',
    RECOVERY,
    (draft) =>
      Object.assign(draft, {
        provider_responses: replaced(
          draft.provider_responses,
          '"finish_reason":"stop"',
          '"finish_reason":"content_filter"',
        ),
      }),
    /execution_metadata\.stop_reason: expected "completed", got "model_stopped"/,
  ],
  [
    'the name of the field that holds the calls',
    RECOVERY,
    (draft) =>
      Object.assign(at(draft.provider_responses, 0), {
        response: replaced(at(draft.provider_responses, 0).response, '"tool_calls":[', '"calls":['),
      }),
    /provider_responses\[1\]\.request\.body\.messages/,
  ],
  [
    'a status of the provider',
    LIMITED,
    (draft) => Object.assign(at(draft.provider_responses, 0).response, { status: 400 }),
    /stop_reason: expected "completed", got "provider_failed"|did not use all of its golden: provider_responses\[1\]/,
  ],
  [
    'an exchange that is lost',
    RECOVERY,
    (draft) => Object.assign(draft, { provider_responses: draft.provider_responses.slice(0, -1) }),
    /has no answer to this request.*every exchange is used/,
  ],
  [
    'an exchange too many',
    RECOVERY,
    (draft) =>
      Object.assign(draft, {
        provider_responses: [...draft.provider_responses, at(draft.provider_responses, 2)],
      }),
    /did not use all of its golden: provider_responses\[3\]/,
  ],
  [
    'a recorded call that is lost',
    PARALLEL,
    (draft) =>
      Object.assign(draft, {
        mcp_cassette: { ...draft.mcp_cassette, calls: draft.mcp_cassette?.calls.slice(1) },
      }),
    /does not hold this call of scenario\.add.*mcp_cassette\.calls/s,
  ],
  [
    'the description of a tool',
    RECOVERY,
    (draft) =>
      Object.assign(draft, {
        mcp_cassette: replaced(draft.mcp_cassette, 'Adds two numbers', 'Takes two numbers'),
      }),
    /provider_responses\[0\]\.request\.body\.tools\[0\]\.function\.description/,
  ],
  [
    'a server that can no longer be opened',
    RECOVERY,
    (draft) => Object.assign(draft, { mcp_cassette: { servers: {}, calls: [] } }),
    /cannot open the server "scenario"/,
  ],
  [
    'what the policy gate decided',
    POLICY,
    (draft) => Object.assign(draft.golden_output, { tool: 'search_sharepoint' }),
    /tool: expected "search_sharepoint", got "fetch_sharepoint_doc"/,
  ],
];

for (const [name, golden, change, place] of OF_GOLDENS) {
  test(`caught in a golden: ${name}`, async () => {
    const draft = await draftOf(golden);
    change(draft);
    await caught(draft, place);
  });
}

/** The golden is as it was, and the program behaves otherwise. */
const OF_BEHAVIOUR: readonly [name: string, golden: string, options: Partial<GhostOptions>, place: RegExp][] =
  [
    [
      'another task',
      RECOVERY,
      { userPrompt: 'Where does 18 live?' },
      /request\.body\.messages\[1\]\.content/,
    ],
    ['another system prompt', CHAIN, { systemPrompt: 'Be brief.' }, /request\.body\.system/],
    [
      'another model',
      RECOVERY,
      { model: 'gpt-5.4' },
      /request\.body\.model: expected "gpt-5\.4-mini", got "gpt-5\.4"/,
    ],
    [
      'a field added to requests',
      RECOVERY,
      { temperature: 0.5 },
      /request\.body\.temperature: expected nothing, got 0\.5/,
    ],
    [
      'no recovery from errors',
      RECOVERY,
      { enableBacktracking: false },
      /provider_responses\[1\]\.request\.body\.messages/,
    ],
    ['fewer turns', CHAIN, { maxIterations: 2 }, /provider_responses\[2\]\.request\.body\.messages/],
  ];

for (const [name, golden, options, place] of OF_BEHAVIOUR) {
  test(`caught in behavior: ${name}`, async () => caught(await draftOf(golden), place, options));
}

test('caught in a file: thirty seeded edits by hand, each named by its place', async () => {
  const below = random(6);
  for (let edit = 0; edit < 30; edit += 1) {
    const draft = await draftOf([RECOVERY, PARALLEL, CHAIN, LIMITED, LOOP, POLICY][below(6)] ?? RECOVERY);
    const place = editSomewhere(draft as unknown as Json, below);
    await writeFile(path, formatGolden(draft as unknown as Golden));
    await assert.rejects(readGolden(path), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'GOLDEN_EDITED', `${place}: ${error.message}`);
      const [, named = ''] = /, at ([^;]+);/.exec(error.message) ?? [];
      assert.ok(place.startsWith(named), `${place} is said to be at ${named}`);
      return true;
    });
  }
});

/** Words of fixed lists, which would make it another kind of file, and the checksum itself. */
const FIXED =
  /^(?:checksum|format_version)|(?:recorded_at|category|runner|source|outcome|sdk|check|line_end|status|iteration|code)$|matchers/;

/** Changes one text or number of a value. @returns its place. */
function editSomewhere(value: Json, below: (limit: number) => number): string {
  const leaves: { holder: Json; key: string; place: string }[] = [];
  collectLeaves(value, '', leaves);
  const { holder, key, place } = at(leaves, below(leaves.length));
  holder[key] = typeof holder[key] === 'number' ? (holder[key] as number) + 1 : `${String(holder[key])}x`;
  return place;
}

function collectLeaves(
  holder: Json,
  place: string,
  leaves: { holder: Json; key: string; place: string }[],
): void {
  for (const [key, member] of Object.entries(holder)) {
    const name = Array.isArray(holder) ? `${place}[${key}]` : place === '' ? key : `${place}.${key}`;
    if (typeof member === 'object' && member !== null) collectLeaves(member as Json, name, leaves);
    else if (FIXED.test(name)) continue;
    else if (typeof member === 'string' || typeof member === 'number')
      leaves.push({ holder, key, place: name });
  }
}
