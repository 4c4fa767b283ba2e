/**
 * A planner that knows the rules and tries to bypass them. Each output is an honest plan with an attack on its tool,
 * arguments or text; some stay honest, to detect a gate that refuses everything.
 */
import { ATTACKS, type Attack, type Draft } from './attacks.ts';
import { pick, type Random } from './random.ts';
import { EVAL_ALLOWLIST } from './world.ts';

/** One planner output. `isHonest` ones must pass. */
export interface AdversarialPlan {
  readonly attack: string;
  readonly raw: string;
  readonly isHonest: boolean;
}

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

const NAMES = Object.keys(ATTACKS);

/** The next output of the adversarial planner. One in ten is honest. */
export function nextPlan(random: Random): AdversarialPlan {
  const draft = honestDraft(random);
  if (random() < 0.1) return { attack: 'none', raw: JSON.stringify(draft), isHonest: true };
  const attack = pick(NAMES, random);
  const raw = (ATTACKS[attack] as Attack)(draft, random);
  return { attack, raw, isHonest: false };
}

/** Whether the evaluation's allowlist contains the pair. */
export function isListed(server: unknown, tool: unknown): boolean {
  if (typeof server !== 'string' || typeof tool !== 'string') return false;
  return Object.entries(EVAL_ALLOWLIST).some(([id, tools]) => id === server && tools.includes(tool));
}
