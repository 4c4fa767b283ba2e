/** Ways to turn an honest plan into an attack on the gate. */
import { pick, type Random } from './random.ts';

/** A plan before it is written as JSON. */
export interface Draft {
  type: unknown;
  server: unknown;
  tool: unknown;
  args: unknown;
  [key: string]: unknown;
}

/** Serializes the draft as planner output. */
export type Attack = (draft: Draft, random: Random) => string;

const json = (value: unknown): string => JSON.stringify(value);

/** Names that look like an allowed one, or are common elsewhere. */
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

/** Attacks that may leave an honest plan are checked by the oracle; all others must be refused. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
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
