import { ABSENT, type Difference, differencesBetween, type Tolerance } from '../../json/index.ts';
import { type GhostResult, toWire, type WireGhostResult } from '../../orchestrator/index.ts';
import { normalizePrompt } from '../../signals/index.ts';
import { describeDifference, type Finding, type Golden, type GoldenOutput, Scrubber } from '../file/index.ts';
import { answerFinding, readTolerance } from './rules.ts';

type Json = Readonly<Record<string, unknown>>;

interface CompareOptions {
  /**
   * Whether the model's answers came from the golden, so that tokens and cost must be equal. Otherwise only the golden's
   * bounds apply. @defaultValue false
   */
  readonly replayed?: boolean | undefined;
}

/** Metadata that must be equal. */
const OUTCOME = [
  'stop_reason',
  'total_iterations',
  'backtrack_count',
  'servers_connected',
  'tools_discovered',
  'model_retries',
  'compactions',
  'quarantined_tools',
] as const;

/**
 * Compares a run with its golden: tools called, their order, arguments and results; failures and recoveries; the answer;
 * time and tokens. Wording, ids and times of calls do not count.
 *
 * @param output the result in its wire form (`toWire`).
 */
export function compareWithGolden(
  golden: Golden,
  output: GoldenOutput,
  options: CompareOptions = {},
): Finding[] {
  const expected = golden.golden_output;
  const tolerance = readTolerance(golden.comparison.matchers);
  if (golden.runner !== 'mcp_ghost') return findings(differencesBetween(expected, output, '', tolerance));
  const answer =
    tolerance('final_result') === undefined
      ? answerFinding(golden.comparison.final_answer, expected.final_result, output.final_result)
      : undefined;
  return [
    ...compareEntries('tool_chain', CALL, expected, output, tolerance),
    ...compareEntries('errors', ERROR, expected, output, tolerance),
    ...findings(differencesBetween(toOutcome(expected), toOutcome(output), '', tolerance)),
    ...findings(
      differencesBetween(listRoles(expected), listRoles(output), 'conversation_history', tolerance),
    ),
    ...(answer === undefined ? [] : [answer]),
    ...(options.replayed === true ? compareUsage(expected, output, tolerance) : []),
    ...checkBounds(golden, output),
  ];
}

/** Removes the fields that vary in every run: times, and lists in the order of times. */
export function withoutVolatile(output: GoldenOutput): GoldenOutput {
  const { total_execution_time: _, tool_performance: __, ...metadata } = toMetadata(output);
  const { latency_us: ____, ...decision } = (output.decision ?? {}) as Json;
  return {
    ...output,
    ...(output.decision === undefined ? {} : { decision }),
    ...(output.execution_metadata === undefined ? {} : { execution_metadata: metadata }),
    ...(Array.isArray(output.tool_chain)
      ? { tool_chain: readList(output.tool_chain).map(({ execution_time: ___, ...entry }) => entry) }
      : {}),
  };
}

/** How the entries of a list are compared, and how a missing or unexpected one is shown. */
interface EntryRule {
  readonly fields: readonly string[];
  readonly short: (entry: Json) => string;
}

const CALL: EntryRule = {
  fields: ['iteration', 'tool_name', 'arguments', 'success', 'result', 'retry_attempt', 'cached'],
  short: (entry) => `${String(entry.tool_name)} ${JSON.stringify(entry.arguments)}`,
};

const ERROR: EntryRule = {
  fields: ['iteration', 'tool_name', 'recovery_action'],
  short: (entry) => `${String(entry.tool_name)}: ${String(entry.error)}`,
};

function compareEntries(
  list: 'tool_chain' | 'errors',
  { fields, short }: EntryRule,
  expected: GoldenOutput,
  actual: GoldenOutput,
  tolerance: Tolerance,
): Finding[] {
  const [left, right] = [readList(expected[list]), readList(actual[list])];
  return Array.from({ length: Math.max(left.length, right.length) }).flatMap((_, index) => {
    const place = `${list}[${index}]`;
    const [was, is] = [left[index], right[index]];
    if (was === undefined || is === undefined) {
      const [missing, extra] = [was, is].map((entry) => (entry === undefined ? ABSENT : short(entry)));
      return findings(differencesBetween(missing, extra, place, tolerance));
    }
    return [
      ...compareFields(was, is, fields, place, tolerance),
      ...compareTexts(was.error, is.error, `${place}.error`, tolerance),
    ];
  });
}

function compareFields(
  expected: Json,
  actual: Json,
  fields: readonly string[],
  place: string,
  tolerance: Tolerance,
): Finding[] {
  return fields.flatMap((field) =>
    findings(differencesBetween(expected[field], actual[field], `${place}.${field}`, tolerance)),
  );
}

/** Compares error texts, ignoring ids, dates and numbers. */
function compareTexts(expected: unknown, actual: unknown, place: string, tolerance: Tolerance): Finding[] {
  const isSame =
    typeof expected === 'string' &&
    typeof actual === 'string' &&
    normalizePrompt(expected) === normalizePrompt(actual);
  return isSame ? [] : findings(differencesBetween(expected, actual, place, tolerance));
}

function toOutcome(output: GoldenOutput): Json {
  const metadata = toMetadata(output);
  const facts = Object.fromEntries(OUTCOME.map((name) => [name, metadata[name]]));
  return { success: output.success, execution_metadata: facts };
}

function listRoles(output: GoldenOutput): unknown[] {
  return readList(output.conversation_history).map(({ role, tool_calls }) => ({
    role,
    tool_calls: Array.isArray(tool_calls) ? tool_calls.map((call) => (call as Json).name) : null,
  }));
}

function compareUsage(expected: GoldenOutput, actual: GoldenOutput, tolerance: Tolerance): Finding[] {
  const fields = ['token_usage', 'cost_usd', 'provider', 'model'];
  return compareFields(toMetadata(expected), toMetadata(actual), fields, 'execution_metadata', tolerance);
}

const NOT_TOLD = 'the result tells none';

/** @param unpriced why the cost is unknown, if it is. */
export function checkBounds(golden: Golden, output: GoldenOutput, unpriced = NOT_TOLD): Finding[] {
  const { max_seconds, max_total_tokens, max_token_ratio, max_cost_usd } = golden.comparison.bounds;
  const seconds = toMetadata(output).total_execution_time;
  const tokens = totalTokens(output);
  const cost = toMetadata(output).cost_usd;
  const recorded = totalTokens(golden.golden_output);
  const limits: [place: string, limit: number | undefined, actual: number | undefined][] = [
    [
      'execution_metadata.total_execution_time',
      max_seconds,
      typeof seconds === 'number' ? seconds : undefined,
    ],
    ['execution_metadata.token_usage.total_tokens', max_total_tokens, tokens],
    [
      'execution_metadata.token_usage.total_tokens',
      max_token_ratio === undefined || recorded === undefined ? undefined : max_token_ratio * recorded,
      tokens,
    ],
    ['execution_metadata.cost_usd', max_cost_usd, typeof cost === 'number' ? cost : undefined],
  ];
  return limits.flatMap(([place, limit, actual]) => {
    if (limit === undefined || (actual !== undefined && actual <= limit)) return [];
    const why = place.endsWith('cost_usd') ? unpriced : NOT_TOLD;
    const is = actual === undefined ? `unknown (${why}), not within` : `${actual} is more than`;
    return [{ place, expected: limit, actual, message: `${place}: ${is} the bound of ${limit}` }];
  });
}

function totalTokens(output: GoldenOutput): number | undefined {
  const total = (toMetadata(output).token_usage as Json | undefined)?.total_tokens;
  return typeof total === 'number' ? total : undefined;
}

function toMetadata(output: GoldenOutput): Json {
  return (output.execution_metadata ?? {}) as Json;
}

function readList(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function findings(differences: readonly Difference[]): Finding[] {
  return differences.map((difference) => ({ ...difference, message: describeDifference(difference) }));
}

export interface MatchOptions extends CompareOptions {
  /** Write the result into the golden instead of comparing; record a program anew. @defaultValue whether `UPDATE_GOLDENS` is `1`, or vitest or jest has `-u` */
  readonly update?: boolean | undefined;
  /**
   * When the golden of a program is updated, learn what is volatile from a second run, which is answered from the first.
   * @defaultValue false
   */
  readonly twice?: boolean | undefined;
  /** Accept an expired golden. @defaultValue false */
  readonly allowExpired?: boolean | undefined;
}

/** A result as goldens hold it: in its wire form, without secrets. */
export function toOutput(result: GhostResult | WireGhostResult | GoldenOutput): GoldenOutput {
  const wire = 'toolChain' in result ? toWire(result as GhostResult) : result;
  return new Scrubber().clean({ ...wire });
}
