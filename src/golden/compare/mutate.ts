import type { Golden, GoldenOutput } from '../file/index.ts';
import { compareWithGolden } from './compare.ts';

type Json = Record<string, unknown>;

/** How many changed runs a golden tells from its own. */
export interface Effectiveness {
  readonly tried: number;
  readonly caught: number;
  /** Names of the changes that passed unseen. */
  readonly missed: readonly string[];
}

/** A change of a run; undefined where a run has nothing of the kind. */
type Mutation = (output: Json) => Json | undefined;

const readList = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

function withChain(change: (chain: Json[]) => Json[] | undefined): Mutation {
  return (output) => {
    const chain = change(readList(structuredClone(output.tool_chain)));
    return chain && { ...output, tool_chain: chain };
  };
}

function withCall(change: (call: Json) => Json | undefined): Mutation {
  return withChain((chain) => {
    const last = chain.at(-1);
    const changed = last && change(last);
    return changed && [...chain.slice(0, -1), changed];
  });
}

function withMetadata(change: (metadata: Json) => Json | undefined): Mutation {
  return (output) => {
    const metadata = output.execution_metadata as Json | undefined;
    const changed = metadata && change(metadata);
    return changed && { ...output, execution_metadata: { ...metadata, ...changed } };
  };
}

/** Runs that went otherwise, each in one respect. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a call is not made': withChain((chain) => (chain.length === 0 ? undefined : chain.slice(0, -1))),
  'a call is made twice': withChain((chain) =>
    chain.length === 0 ? undefined : [...chain, chain.at(-1) as Json],
  ),
  'two calls change places': withChain(([first, second, ...rest]) =>
    first === undefined || second === undefined || JSON.stringify(first) === JSON.stringify(second)
      ? undefined
      : [second, first, ...rest],
  ),
  'another tool is called': withCall((call) => ({ ...call, tool_name: `${String(call.tool_name)}_2` })),
  'an argument differs': withCall((call) => {
    const entries = Object.entries((call.arguments ?? {}) as Json);
    const [name, value] = entries[0] ?? [];
    if (name === undefined) return undefined;
    return { ...call, arguments: { ...Object.fromEntries(entries), [name]: changed(value) } };
  }),
  'a result differs': withCall((call) => ({ ...call, result: changed(call.result) })),
  'a good call fails': withCall((call) =>
    call.success === true ? { ...call, success: false, error: 'failed' } : undefined,
  ),
  'an error is not recovered from': (output) => {
    const [first, ...rest] = readList(output.errors);
    if (first === undefined || first.recovery_action === null) return undefined;
    return { ...output, errors: [{ ...first, recovery_action: null }, ...rest] };
  },
  'the answer says something else': (output) =>
    typeof output.final_result === 'string' && output.final_result !== ''
      ? { ...output, final_result: 'Nothing of the kind was found.' }
      : undefined,
  'there is no answer': (output) =>
    output.final_result === undefined || output.final_result === null
      ? undefined
      : { ...output, final_result: null },
  'the run does not succeed': (output) =>
    typeof output.success === 'boolean' ? { ...output, success: !output.success } : undefined,
  'the run ends for another reason': withMetadata(({ stop_reason: reason }) =>
    reason === undefined ? undefined : { stop_reason: reason === 'budget' ? 'loop' : 'budget' },
  ),
  'it takes a turn more': withMetadata(({ total_iterations: turns }) =>
    typeof turns === 'number' ? { total_iterations: turns + 1 } : undefined,
  ),
  'it uses ten times the tokens': withMetadata(({ token_usage: usage }) => {
    const total = (usage as Json | undefined)?.total_tokens;
    return typeof total === 'number' && total > 0
      ? { token_usage: { ...(usage as Json), total_tokens: total * 10 } }
      : undefined;
  }),
  'it takes an hour more': withMetadata(({ total_execution_time: seconds }) =>
    typeof seconds === 'number' ? { total_execution_time: seconds + 3_600 } : undefined,
  ),
};

function changed(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  return typeof value === 'string' ? `${value} otherwise` : { otherwise: value ?? null };
}

/** Changes the run of a golden in each way that applies, and counts which changes its comparison catches. */
export function computeEffectiveness(golden: Golden): Effectiveness {
  const missed: string[] = [];
  let tried = 0;
  for (const [name, mutate] of Object.entries(MUTATIONS)) {
    const output = mutate({ ...golden.golden_output });
    if (output === undefined) continue;
    tried += 1;
    if (compareWithGolden(golden, output as GoldenOutput).length === 0) missed.push(name);
  }
  return { tried, caught: tried - missed.length, missed };
}
