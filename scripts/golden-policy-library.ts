/** The policy-gated steps of the golden library: each question and the planner's answers. */
import type { GoldenCategory, PolicyStep } from '../src/golden/index.ts';
import type { Turn } from '../test/support/scripted-provider.ts';

export interface LibraryStep {
  readonly name: string;
  readonly description: string;
  readonly category: GoldenCategory;
  readonly step: Omit<PolicyStep, 'provider' | 'model'>;
  readonly script: readonly Turn[];
}

const SERVERS = {
  'mcp-sharepoint': { command: 'node', args: ['dist/examples/servers/main.js', 'mcp-sharepoint'] },
};
const POLICY = { 'mcp-sharepoint': ['search_sharepoint', 'fetch_sharepoint_doc'] };

const plan = (tool: string, args: unknown): Turn => ({
  text: JSON.stringify({ type: 'call_tool', server: 'mcp-sharepoint', tool, args }),
});

function step(query: string, more: Partial<PolicyStep> = {}): LibraryStep['step'] {
  return { query, policy: POLICY, servers: SERVERS, ...more };
}

export const POLICY_LIBRARY: readonly LibraryStep[] = [
  {
    name: 'policy_allowed_call',
    description: 'A listed tool is called, and its typed result is given.',
    category: 'happy_path',
    step: step('Fetch the document sp-001.'),
    script: [plan('fetch_sharepoint_doc', { doc_id: 'sp-001' })],
  },
  {
    name: 'policy_summary_with_evidence',
    description: 'A summary in which every claim has its quote is given with the result.',
    category: 'happy_path',
    step: step('Fetch the document sp-001.', { summarize: true }),
    script: [
      plan('fetch_sharepoint_doc', { doc_id: 'sp-001' }),
      {
        text: JSON.stringify({
          type: 'summary',
          bullets: [{ claim: 'Mask emails', evidence: 'Mask emails' }],
          risks: [],
          recommendations: [],
        }),
      },
    ],
  },
  {
    name: 'policy_invented_summary',
    description: 'A summary that quotes what is not there is dropped; the result is still given.',
    category: 'error_recovery',
    step: step('Fetch the document sp-003.', { summarize: true }),
    script: [
      plan('fetch_sharepoint_doc', { doc_id: 'sp-003' }),
      {
        text: JSON.stringify({
          type: 'summary',
          bullets: [{ claim: 'Logs are kept for 90 days', evidence: 'Logs: 90 days' }],
          risks: [],
          recommendations: [],
        }),
      },
    ],
  },
  {
    name: 'policy_unlisted_tool',
    description: 'A tool that is not on the list is refused, whatever the planner says.',
    category: 'edge_case',
    step: step('Delete the document sp-001.'),
    script: [plan('delete_sharepoint_doc', { doc_id: 'sp-001' })],
  },
  {
    name: 'policy_invented_tool',
    description: 'A tool that no server has is refused.',
    category: 'edge_case',
    step: step('Drop everything.'),
    script: [plan('drop_everything', {})],
  },
  {
    name: 'policy_bad_arguments',
    description: 'Arguments that do not fit the schema of the tool are refused.',
    category: 'edge_case',
    step: step('Fetch a document.'),
    script: [plan('fetch_sharepoint_doc', { doc_id: 17 })],
  },
  {
    name: 'policy_no_plan',
    description: 'An answer that is no plan is refused.',
    category: 'edge_case',
    step: step('Fetch the document sp-001.'),
    script: [{ text: 'Sure, here you are!' }],
  },
  {
    name: 'policy_final_answer',
    description: 'The planner asks back instead of calling a tool.',
    category: 'edge_case',
    step: step('Fetch the document.'),
    script: [
      { text: JSON.stringify({ type: 'final_answer', answer: 'Which document?', needs_more_info: true }) },
    ],
  },
];
