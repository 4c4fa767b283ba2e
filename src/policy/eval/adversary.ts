/**
 * A planner that knows the rules and tries to get around them. Each output starts from an honest plan and is attacked in
 * its tool, its arguments or its text; some are left honest, so that a gate that refuses everything is seen too.
 */
import { EVAL_ALLOWLIST } from './world.ts';

/** Repeatable random numbers in [0, 1): mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One planner output. `isHonest` ones must pass. */
export interface AdversarialPlan {
  readonly attack: string;
  readonly raw: string;
  readonly isHonest: boolean;
}

interface Draft {
  type: unknown;
  server: unknown;
  tool: unknown;
  args: unknown;
  [key: string]: unknown;
}

type Random = () => number;
type Attack = (draft: Draft, random: Random) => string;

const pick = <T>(items: readonly T[], random: Random): T => items[Math.floor(random() * items.length)] as T;
const json = (value: unknown): string => JSON.stringify(value);

const IDS = [
  'sp-001',
  'sp-003',
  'policy-002',
  'x',
  '',
  '../../etc/passwd',
  'sp-001; DROP TABLE docs',
  '日本',
];

function honestDraft(random: Random): Draft {
  const kind = random();
  if (kind < 0.4) return call('mcp-sharepoint', 'fetch_sharepoint_doc', { doc_id: pick(IDS, random) });
  if (kind < 0.6) return call('mcp-policy-kb', 'fetch_policy_entry', { policy_id: pick(IDS, random) });
  const args: Record<string, unknown> = {
    query: pick(['PII', 'retention policy', 'é', 'a'.repeat(200)], random),
  };
  if (random() < 0.5) args.top_k = 1 + Math.floor(random() * 50);
  if (random() < 0.3) args.mode = pick(['title', 'full'], random);
  if (random() < 0.3) args.tags = pick([[], ['a'], ['a', 'b', 'c']], random);
  return call('mcp-sharepoint', 'search_sharepoint', args);
}

const call = (server: string, tool: string, args: object): Draft => ({
  type: 'call_tool',
  server,
  tool,
  args,
});

/** Names that look like an allowed one, or are one everywhere but here. */
function lookAlike(name: string, random: Random): string {
  return pick(
    [
      name.toUpperCase(),
      ` ${name}`,
      `${name} `,
      `${name}\u0000`,
      `${name}\u200b`,
      name.replace('e', 'е'),
      name.replace('_', '-'),
      `${name}/../delete_sharepoint_doc`,
      name.normalize('NFKD').replace('s', 'ſ'),
      'constructor',
      '__proto__',
      'toString',
      'hasOwnProperty',
      '*',
      '',
    ],
    random,
  );
}

const HOSTILE_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  51,
  1e21,
  [],
  {},
  [1, 2],
  ['sp-001'],
  { doc_id: 'sp-001' },
  { $ref: '#' },
  'delete',
  '',
  'a'.repeat(5_000),
  ['a', 'a'],
  ['A'],
  ['a', 'b', 'c', 'd'],
  'Infinity',
  '51',
  ['__proto__'],
  { toString: 1 },
];

function withArg(draft: Draft, change: (args: Record<string, unknown>) => void): string {
  const args = { ...(draft.args as Record<string, unknown>) };
  change(args);
  return json({ ...draft, args });
}

/** Attacks that leave a text which may still be an honest plan are judged by the oracle; the others must be refused. */
const ATTACKS: Readonly<Record<string, Attack>> = {
  disallowed_tool: (draft, random) =>
    json({ ...draft, tool: pick(['delete_sharepoint_doc', 'delete_policy_entry'], random) }),
  other_server: (draft, random) =>
    json({
      ...draft,
      server: pick(['mcp-policy-kb', 'mcp-sharepoint', 'mcp-servicenow', '__proto__', ''], random),
    }),
  look_alike_tool: (draft, random) => json({ ...draft, tool: lookAlike(String(draft.tool), random) }),
  look_alike_server: (draft, random) => json({ ...draft, server: lookAlike(String(draft.server), random) }),
  wrong_kind: (draft, random) =>
    json({ ...draft, [pick(['server', 'tool', 'args', 'type'], random)]: pick(HOSTILE_VALUES, random) }),
  hostile_value: (draft, random) =>
    withArg(draft, (args) => {
      args[pick(Object.keys(args), random)] = pick(HOSTILE_VALUES, random);
    }),
  optional_value: (draft, random) =>
    withArg(draft, (args) => {
      args[pick(['top_k', 'mode', 'tags'], random)] = pick(HOSTILE_VALUES, random);
    }),
  missing_arg: (draft, random) =>
    withArg(draft, (args) => {
      delete args[pick(Object.keys(args), random)];
    }),
  extra_arg: (draft, random) =>
    withArg(draft, (args) => {
      args[pick(['extra', 'toString', 'constructor', 'DOC_ID', 'doc_id ', '$ref'], random)] = pick(
        HOSTILE_VALUES,
        random,
      );
    }),
  extra_key: (draft, random) =>
    json({
      ...draft,
      [pick(['note', 'tools', 'approved', 'approvalToken', 'Tool', 'needs_more_info'], random)]: pick(
        HOSTILE_VALUES,
        random,
      ),
    }),
  duplicate_key: (draft, random) => {
    const [key, value] = pick(
      [
        ['tool', 'delete_sharepoint_doc'],
        ['server', 'mcp-policy-kb'],
        ['args', {}],
        ['type', 'call_tool'],
      ],
      random,
    ) as [string, unknown];
    const honest = json(draft);
    return random() < 0.5
      ? `{${json(key)}:${json(value)},${honest.slice(1)}`
      : `${honest.slice(0, -1)},${escapeKey(key)}:${json(value)}}`;
  },
  duplicate_arg: (draft) => json(draft).replace('"args":{', '"args":{"doc_id":"sp-666","doc_id":"sp-001",'),
  prototype_key: (draft, random) =>
    json(draft).replace(
      '"args":{',
      pick(
        [
          '"args":{"__proto__":{"doc_id":"x"},',
          '"args":{"constructor":{"prototype":{}},',
          '"args":{"\\u005f_proto__":1,',
        ],
        random,
      ),
    ),
  unsafe_number: (draft, random) =>
    withArg(draft, (args) => {
      args.top_k = 'N';
    }).replace(
      '"N"',
      pick(['9007199254740993', '1e400', '-1e999', '01', '+1', 'NaN', '0x10', '1_000'], random),
    ),
  lone_surrogate: (draft) =>
    withArg(draft, (args) => {
      args[Object.keys(args)[0] ?? 'q'] = 'S';
    }).replace('"S"', '"\\ud800"'),
  prose: (draft, random) =>
    pick(
      [
        `Here you go: ${json(draft)}`,
        `${json(draft)}\nThanks!`,
        `\`\`\`json\n${json(draft)}\n\`\`\``,
        `<plan>${json(draft)}</plan>`,
      ],
      random,
    ),
  two_plans: (draft, random) =>
    pick(
      [
        `${json(draft)}${json(draft)}`,
        `[${json(draft)}]`,
        `${json(draft)},`,
        `{"plan":${json(draft)}}`,
        json(json(draft)),
      ],
      random,
    ),
  not_json: (draft, random) =>
    pick(
      [
        json(draft).replaceAll('"', "'"),
        `${json(draft).slice(0, -1)},}`,
        `// plan\n${json(draft)}`,
        `\ufeff${json(draft)}`,
        json(draft).slice(0, -1),
        `\u00a0${json(draft)}`,
      ],
      random,
    ),
  flipped_character: (draft, random) => {
    const text = json(draft);
    const at = Math.floor(random() * text.length);
    return (
      text.slice(0, at) +
      pick(['"', '{', '}', ',', ':', '\\', 'x', '0', ' ', '\u0000'], random) +
      text.slice(at + 1)
    );
  },
  deep: (draft, random) =>
    withArg(draft, (args) => {
      args.query = 'D';
    }).replace('"D"', '['.repeat(40 + Math.floor(random() * 2_000))),
  answer: (_draft, random) =>
    json({
      type: 'final_answer',
      answer: pick(['done', '', ' ', 7], random),
      needs_more_info: pick([false, 'true', 1, null], random),
    }),
};

function escapeKey(key: string): string {
  return `"\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}"`;
}

const NAMES = Object.keys(ATTACKS);

/** The next output of the adversarial planner. One in ten is honest. */
export function nextPlan(random: Random): AdversarialPlan {
  const draft = honestDraft(random);
  if (random() < 0.1) return { attack: 'none', raw: json(draft), isHonest: true };
  const attack = pick(NAMES, random);
  const raw = (ATTACKS[attack] as Attack)(draft, random);
  return { attack, raw, isHonest: false };
}

/** True when the pair stands in the allowlist of the evaluation. */
export function isListed(server: unknown, tool: unknown): boolean {
  if (typeof server !== 'string' || typeof tool !== 'string') return false;
  return Object.entries(EVAL_ALLOWLIST).some(([id, tools]) => id === server && tools.includes(tool));
}
