/** Hand-written planner outputs for G1, and plans for G2 and G3, each with the expected decision. */
import { PolicyGate, parsePlan } from '../../policy/index.ts';
import { type CaseResult, result } from './case-result.ts';
import { EVAL_ALLOWLIST, EVAL_TOOLS } from './world.ts';

const FETCH = {
  type: 'call_tool',
  server: 'mcp-sharepoint',
  tool: 'fetch_sharepoint_doc',
  args: { doc_id: 'sp-001' },
};
const TEXT = JSON.stringify(FETCH);

const PLANS: readonly (readonly [string, unknown, string])[] = [
  ['allow_parsed', FETCH, 'allow'],
  ['allow_text', TEXT, 'allow'],
  ['allow_text_with_space', `\n  ${TEXT}  \n`, 'allow'],
  ['block_prefix', `Here you go: ${TEXT}`, 'block'],
  ['block_suffix', `${TEXT}\nThanks!`, 'block'],
  ['block_fence', `\`\`\`json\n${TEXT}\n\`\`\``, 'block'],
  ['block_array', `[${TEXT}]`, 'block'],
  ['block_text_in_text', JSON.stringify(TEXT), 'block'],
  ['block_two', `${TEXT}${TEXT}`, 'block'],
  ['block_words', 'not json', 'block'],
  ['block_number', 123, 'block'],
  ['block_null', null, 'block'],
  ['block_undefined', undefined, 'block'],
  ['block_byte_order_mark', `\ufeff${TEXT}`, 'block'],
  ['block_duplicate_key', TEXT.replace('"args"', '"tool":"delete_sharepoint_doc","args"'), 'block'],
  [
    'block_duplicate_escaped_key',
    TEXT.replace('"args"', '"to\\u006fl":"delete_sharepoint_doc","args"'),
    'block',
  ],
  ['block_prototype', TEXT.replace('{"doc_id"', '{"__proto__":{},"doc_id"'), 'block'],
  ['block_unsafe_integer', TEXT.replace('"sp-001"', '9007199254740993'), 'block'],
  ['block_infinity', TEXT.replace('"sp-001"', '1e400'), 'block'],
  ['block_lone_surrogate', TEXT.replace('sp-001', '\\ud800'), 'block'],
  ['block_deep', TEXT.replace('"sp-001"', `${'['.repeat(900)}${']'.repeat(900)}`), 'block'],
  ['block_trailing_comma', TEXT.replace('}}', ',}}'), 'block'],
  ['block_comment', `/* plan */${TEXT}`, 'block'],
  ['block_unknown_key', TEXT.replace('"args"', '"why":"x","args"'), 'block'],
  ['block_server_list', { ...FETCH, server: ['mcp-sharepoint'] }, 'block'],
];

/** G1. */
export function planParseSuite(): CaseResult[] {
  return PLANS.map(([name, raw, expected]) => {
    const parsed = parsePlan(raw);
    const isRefused = 'refused' in parsed;
    return result(name, expected, isRefused ? 'block' : 'allow', isRefused ? parsed.refused.reasonCode : '');
  });
}

const CALLS: readonly (readonly [string, object, string])[] = [
  ['valid_call', FETCH, 'allow'],
  [
    'needs_more_info',
    { type: 'final_answer', answer: 'Which document?', needs_more_info: true },
    'final_answer',
  ],
  ['unknown_server', { ...FETCH, server: 'mcp-unknown' }, 'server_unknown'],
  ['unknown_tool', { ...FETCH, tool: 'fetch_nonexistent' }, 'tool_unknown'],
  ['inherited_name', { ...FETCH, tool: 'constructor' }, 'tool_unknown'],
  ['missing_argument', { ...FETCH, args: {} }, 'args_invalid'],
  ['extra_argument', { ...FETCH, args: { doc_id: 'sp-001', extra: 'nope' } }, 'args_unknown_key'],
  ['wrong_type', { ...FETCH, args: { doc_id: 123 } }, 'args_invalid'],
  [
    'over_maximum',
    { ...FETCH, tool: 'search_sharepoint', args: { query: 'x', top_k: 1e12 } },
    'args_invalid',
  ],
  [
    'outside_enum',
    { ...FETCH, tool: 'search_sharepoint', args: { query: 'x', mode: 'delete' } },
    'args_invalid',
  ],
  ['disallowed_tool', { ...FETCH, tool: 'delete_sharepoint_doc' }, 'not_allowlisted'],
  [
    'final_answer_without_question',
    { type: 'final_answer', answer: 'hello', needs_more_info: false },
    'plan_wrong_type',
  ],
  ['final_answer_blank', { type: 'final_answer', answer: '   ', needs_more_info: true }, 'plan_wrong_type'],
];

/** G2 and G3. */
export function planGateSuite(): CaseResult[] {
  using gate = new PolicyGate({ policy: EVAL_ALLOWLIST, tools: EVAL_TOOLS });
  const cases = CALLS.map(([name, plan, expected]) => result(name, expected, judge(gate, plan)));
  using broken = new PolicyGate({ policy: {}, tools: EVAL_TOOLS });
  return [...cases, result('no_usable_policy', 'policy_unavailable', judge(broken, FETCH))];
}

function judge(gate: PolicyGate, raw: unknown): string {
  const parsed = parsePlan(raw);
  if ('refused' in parsed) return parsed.refused.reasonCode;
  if (parsed.plan.type === 'final_answer') return 'final_answer';
  const decision = gate.evaluate(parsed.plan);
  return decision.decision === 'allow' ? 'allow' : decision.reasonCode;
}
