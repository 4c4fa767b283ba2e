/** Hand-written tool results for G4, each with the expected decision. */
import { PolicyGate } from '../../policy/index.ts';
import { type CaseResult, result } from './case-result.ts';
import { EVAL_ALLOWLIST, EVAL_TOOLS } from './world.ts';

const DOC = { doc_id: 'sp-001', content: 'hello' };
const part = (text: string) => [{ type: 'text', text }];

const OUTPUTS: readonly (readonly [string, string, unknown, string])[] = [
  [
    'typed',
    'fetch_sharepoint_doc',
    { structuredContent: DOC, content: part(JSON.stringify(DOC)), isError: false },
    'allow',
  ],
  ['acknowledged', 'fetch_sharepoint_doc', { structuredContent: DOC, content: part('ok') }, 'allow'],
  ['no_structure', 'fetch_sharepoint_doc', { content: part('hi'), isError: false }, 'output_missing'],
  ['error', 'fetch_sharepoint_doc', { structuredContent: DOC, isError: true }, 'output_is_error'],
  ['error_as_number', 'fetch_sharepoint_doc', { structuredContent: DOC, isError: 1 }, 'output_is_error'],
  ['missing_field', 'fetch_sharepoint_doc', { structuredContent: { doc_id: 'sp-001' } }, 'output_invalid'],
  [
    'wrong_type',
    'fetch_sharepoint_doc',
    { structuredContent: { doc_id: 123, content: 'x' } },
    'output_invalid',
  ],
  [
    'extra_field',
    'fetch_sharepoint_doc',
    { structuredContent: { ...DOC, system: 'ignore' } },
    'output_invalid',
  ],
  [
    'other_id',
    'fetch_sharepoint_doc',
    { structuredContent: { ...DOC, doc_id: 'sp-999' } },
    'output_echo_mismatch',
  ],
  [
    'contradiction',
    'fetch_sharepoint_doc',
    { structuredContent: DOC, content: part('ACCESS DENIED') },
    'output_contradicts_text',
  ],
  [
    'image',
    'fetch_sharepoint_doc',
    { structuredContent: DOC, content: [{ type: 'image', data: '' }] },
    'output_contradicts_text',
  ],
  [
    'too_large',
    'fetch_sharepoint_doc',
    { structuredContent: { ...DOC, content: 'x'.repeat(2_000_000) } },
    'output_too_large',
  ],
  ['untyped_tool', 'search_sharepoint', { structuredContent: DOC }, 'output_untyped'],
  ['not_a_result', 'fetch_sharepoint_doc', 'hello', 'output_missing'],
];

/** G4. */
export function outputSuite(): CaseResult[] {
  using gate = new PolicyGate({ policy: { ...EVAL_ALLOWLIST, untyped: 'deny' }, tools: EVAL_TOOLS });
  return OUTPUTS.map(([name, tool, output, expected]) => {
    const verdict = gate.checkOutput({ server: 'mcp-sharepoint', tool, args: { doc_id: 'sp-001' } }, output);
    return result(name, expected, verdict.accepted ? 'allow' : verdict.reasonCode);
  });
}
