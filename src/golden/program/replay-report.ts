/** The report of a replayed program, which it writes to a file for `golden check`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkBounds } from '../compare/index.ts';
import {
  describeDifference,
  exchangeCost,
  type Finding,
  type Golden,
  type GoldenMismatchError,
  isRefused,
  type ProviderExchange,
  programOutput,
  readExchange,
} from '../file/index.ts';

/**
 * What departed: the `prompt` (what the model is given to work on), a `tool` definition, another `parameter` of a
 * request, an `argument` of a call, the `order`; a request that the golden lacks (`added`) or that was not made
 * (`missing`); a bound on `tokens`, `cost` or `time`; how the program ended (`exit`).
 */
export type DepartureKind =
  | 'prompt'
  | 'tool'
  | 'parameter'
  | 'argument'
  | 'order'
  | 'added'
  | 'missing'
  | 'tokens'
  | 'cost'
  | 'time'
  | 'exit';

/** One way in which a program departed from its golden. */
export interface Departure {
  readonly kind: DepartureKind;
  /** In the golden; null if it concerns the whole run. */
  readonly place: string | null;
  readonly message: string;
}

/** What one process of a replayed program did. */
export interface ProgramReport {
  /** Requests to models and servers that were answered from the golden, or should have been. */
  readonly asked: number;
  readonly departures: readonly Departure[];
  /** Of the requests that were made; null if the provider did not report it, or there is no price. */
  readonly total_tokens: number | null;
  readonly cost_usd: number | null;
}

interface Replayed {
  readonly golden: Golden;
  readonly asked: number;
  readonly failure: GoldenMismatchError | undefined;
  readonly order: readonly Finding[];
  readonly unused: GoldenMismatchError | undefined;
  readonly exchanges: readonly ProviderExchange[];
}

export function toReport({ golden, asked, failure, order, unused, exchanges }: Replayed): ProgramReport {
  const stories = exchanges.map(readExchange);
  const { execution_metadata: metadata } = programOutput(stories, exchanges) as {
    execution_metadata: { token_usage: { total_tokens: number | null } };
  };
  const costs = stories.map((story) =>
    isRefused(story) ? 0 : story.usage === undefined ? undefined : exchangeCost(golden, story),
  );
  const cost = costs.every((one) => one !== undefined) ? costs.reduce((sum, one) => sum + one, 0) : null;
  const unpriced = stories[costs.indexOf(undefined)];
  const why = unpriced?.usage === undefined ? 'an answer tells no tokens' : `${unpriced.model} has no price`;
  const facts = { ...metadata, cost_usd: cost, total_execution_time: process.uptime() };
  const bounds = checkBounds(golden, { execution_metadata: facts }, why);
  return {
    asked,
    departures: [
      ...(failure === undefined ? [] : listDepartures(failure)),
      ...order.map(({ place, message }) => ({ kind: 'order' as const, place, message })),
      ...(unused === undefined ? [] : [{ kind: 'missing' as const, place: null, message: unused.message }]),
      ...bounds.map(({ place, message }) => ({ kind: findBound(place), place, message })),
    ],
    total_tokens: metadata.token_usage.total_tokens,
    cost_usd: cost,
  };
}

export function writeReport(folder: string, report: ProgramReport): void {
  writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(report));
}

function listDepartures({ message, differences }: GoldenMismatchError): Departure[] {
  if (differences.length === 0) return [{ kind: 'added', place: null, message }];
  return differences.map((one) => ({
    kind: findKind(one.place),
    place: one.place,
    message: 'message' in one ? one.message : describeDifference(one),
  }));
}

/** Members of a request that give a model what it works on, and those that give it tools, of all APIs. */
const PROMPTS: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'contents',
  'system',
  'instructions',
  'systemInstruction',
  'system_instruction',
  'prompt',
]);
const TOOLS: ReadonlySet<string> = new Set(['tools', 'functions', 'toolConfig']);

function findKind(place: string): DepartureKind {
  const member = /\.request\.body\.([A-Za-z_]+)/.exec(place)?.[1];
  if (member !== undefined) return PROMPTS.has(member) ? 'prompt' : TOOLS.has(member) ? 'tool' : 'parameter';
  if (/^mcp_cassette\.calls\[\d+\]\.arguments/.test(place)) return 'argument';
  return place.startsWith('mcp_cassette.calls') ? 'added' : 'parameter';
}

function findBound(place: string): DepartureKind {
  if (place.endsWith('cost_usd')) return 'cost';
  return place.endsWith('total_tokens') ? 'tokens' : 'time';
}
