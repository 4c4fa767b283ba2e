import { type FieldValues, nearest, ObservatoryError, printableLine } from '../base/index.ts';
import { computeEvidence, type TraceStep, warmEvidence } from '../evidence/index.ts';
import { withSteps } from '../interaction/index.ts';
import { isObject, type JsonObject, readList } from '../json/index.ts';
import {
  computeSignals,
  estimateTokens,
  normalizePrompt,
  type PriceOverrides,
  priceUsage,
  resolveSignalConfig,
  type SignalConfig,
} from '../signals/index.ts';
import {
  type Command,
  type CommandIo,
  EXIT_FAILED,
  EXIT_OK,
  print,
  pumpJsonl,
  readFlags,
  readKind,
  readPrices,
  usageError,
} from './command-line/index.ts';
import { explainScore, redactedRow } from './score-explain.ts';

const HELP = `Usage: mcp-observatory score [options] < calls.jsonl

Computes the fields of recorded calls: hashes, tokens, cost, hallucination scores.

Reads JSON lines from standard input:
  {"id"?, "model"?, "prompt", "answer", "retrieved_context"?, "secondary_answer"?,
   "tool_result_summary"?, "prompt_tokens"?, "completion_tokens"?,
   "steps"?: [{"tool", "arguments"?, "result"?, "is_error"?}]}
and writes one JSON line for each, in order, with its "id". A line that cannot be
scored gives {"id", "line", "error": {"code", "message"}}; "unknown_fields" names
what nothing reads.

Tokens that are not given are estimated (tokens_estimated is true then). A second
answer turns self-consistency on. Fields that have no value are null.

The evidence fields hold the answer against the tool calls of its run ("steps", all
before the answer, [] if none was made) and against its retrieved context, and are
null without both: evidence_risk_score, evidence_risk_level, evidence_support and
evidence_findings [{"kind", "start", "end", "step"?, "start_context"?, "end_context"?}],
in code points; evidence_sampled is the share of the context that was read.

Options:
  --verifier NAME    evidence (default): verifier_score is 1 less the evidence risk, where
                     there is evidence. heuristic: phrases and overlap; no evidence fields
  --explain          print each answer for people instead of JSON, its contradicted and
                     unsupported parts in numbered brackets, and why
  --report           print each row for a bug report instead: its findings, and the texts
                     with letters and digits replaced
  --with-normalized  add normalized_prompt, the text hashed as normalized_prompt_hash
  --at TIME          use the prices of this time, e.g. 2026-02-10T12:00:00Z (default: now)
  --prices FILE      your own prices, a JSON array of {"model", "provider"?,
                     "input_usd_per_million", "output_usd_per_million",
                     "cache_read_usd_per_million"?, "cache_write_usd_per_million"?}
  --json             accepted; the output is JSON without --explain
  --help             show this text

Exit code: 0 when every line was scored, 1 when some were not, 2 for bad usage or
prices that cannot be read.`;

interface Settings {
  readonly config: SignalConfig;
  readonly withNormalized: boolean;
  readonly isExplained: boolean;
  readonly isReported: boolean;
  readonly at: Date;
  readonly overrides: PriceOverrides | undefined;
}

/** `mcp-observatory score`: the observatory's fields for recorded calls, line by line. */
export const scoreCommand: Command = {
  help: HELP,
  async run(args, io) {
    const settings = await readSettings(args, io);
    if (settings === undefined) return EXIT_OK;
    await warmEvidence({ holds: true });
    const told = new Set<string>();
    const failures = await pumpJsonl(
      io,
      (input, line) => ({ ...score(input, settings), ...unknownFields(input, line, told, io) }),
      settings.isReported
        ? (row, input) => reported(row, input)
        : settings.isExplained
          ? (row, input) => explained(row, input, io)
          : undefined,
    );
    return failures === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

const FIELDS =
  'id model prompt answer retrieved_context secondary_answer tool_result_summary prompt_tokens completion_tokens steps'.split(
    ' ',
  );
const STEP_FIELDS = ['tool', 'arguments', 'result', 'is_error'];

/** Names that standard error tells of, each once. */
const MAX_TOLD = 16;

/** The fields of a line that nothing reads, which are usually misspelled. */
function unknownFields(input: JsonObject, line: number, told: Set<string>, io: CommandIo): JsonObject {
  const unknown = [
    ...unknownIn(input, FIELDS),
    ...readList(input.steps).flatMap((step) =>
      isObject(step) ? unknownIn(step, STEP_FIELDS, 'steps.') : [],
    ),
  ];
  const names = [...new Set(unknown.map(({ name }) => name))].slice(0, MAX_TOLD);
  for (const { name, near } of unknown)
    if (told.size < MAX_TOLD && !told.has(name)) {
      told.add(name);
      io.stderr.writeLine(
        printableLine(`score: line ${line}: nothing reads '${name}'; the nearest is '${near}'`),
      );
    }
  return names.length === 0 ? {} : { unknown_fields: names };
}

function unknownIn(value: JsonObject, known: readonly string[], prefix = '') {
  return Object.keys(value)
    .slice(0, MAX_TOLD + known.length)
    .filter((name) => !known.includes(name))
    .map((name) => ({ name: prefix + name.slice(0, 64), near: prefix + nearest(name.slice(0, 64), known) }));
}

function explained(row: JsonObject, input: JsonObject | undefined, io: CommandIo): string {
  if (input === undefined || isObject(row.error)) return JSON.stringify(row);
  return explainScore(input, row, io.stdout.paint);
}

function reported(row: JsonObject, input: JsonObject | undefined): string {
  return JSON.stringify(input === undefined || isObject(row.error) ? row : redactedRow(input, row));
}

/** The columns in output order; null where there is no value. */
const SIGNALS = [
  'grounding_score',
  'verifier_score',
  'verifier_reason',
  'self_consistency_score',
  'numeric_variance_score',
  'tool_claim_mismatch',
  'hallucination_risk_score',
  'hallucination_risk_level',
] as const;

function score(input: JsonObject, settings: Settings): JsonObject {
  const prompt = requiredText(input, 'prompt');
  const answer = requiredText(input, 'answer');
  const model = optionalText(input, 'model');
  const texts = withSteps({
    prompt,
    answer,
    retrievedContext: optionalText(input, 'retrieved_context'),
    secondaryAnswer: optionalText(input, 'secondary_answer'),
    toolResultSummary: optionalText(input, 'tool_result_summary'),
    steps: optionalSteps(input),
  });
  const givenPrompt = optionalCount(input, 'prompt_tokens');
  const givenCompletion = optionalCount(input, 'completion_tokens');
  const inputTokens = givenPrompt ?? estimateTokens(prompt, model);
  const outputTokens = givenCompletion ?? estimateTokens(answer, model);
  const { at, overrides } = settings;
  const price = priceUsage({ usage: { inputTokens, outputTokens }, model, at, overrides });
  const signals = computeSignals(texts, settings.config, computeEvidence(texts, settings.config));
  const row: Record<string, unknown> = {
    prompt_hash: signals.prompt_hash,
    normalized_prompt_hash: signals.normalized_prompt_hash,
    answer_hash: signals.answer_hash,
    prompt_size_chars: signals.prompt_size_chars,
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    tokens_estimated: givenPrompt === undefined || givenCompletion === undefined,
    cost_usd: price.costUsd ?? null,
    cost_source: price.costSource,
  };
  for (const column of SIGNALS) row[column] = signals[column] ?? null;
  if (settings.config.enableEvidence) Object.assign(row, evidenceColumns(signals));
  if (settings.withNormalized) row.normalized_prompt = normalizePrompt(prompt);
  return row;
}

const EVIDENCE = ['evidence_risk_score', 'evidence_risk_level', 'evidence_support'] as const;

function evidenceColumns(signals: FieldValues): JsonObject {
  const row: Record<string, unknown> = {};
  for (const column of EVIDENCE) row[column] = signals[column] ?? null;
  const { evidence_findings: findings, evidence_sampled: sampled } = signals;
  row.evidence_findings = findings === undefined ? null : JSON.parse(findings);
  if (sampled !== undefined) row.evidence_sampled = sampled;
  return row;
}

/** Undefined when help was requested and printed. */
async function readSettings(args: readonly string[], io: CommandIo): Promise<Settings | undefined> {
  const { values } = readFlags(args, {
    verifier: { type: 'string' },
    'with-normalized': { type: 'boolean' },
    explain: { type: 'boolean' },
    report: { type: 'boolean' },
    at: { type: 'string' },
    prices: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  });
  if (values.help === true) {
    print(io, HELP);
    return undefined;
  }
  const { verifier } = values;
  if (verifier !== undefined && verifier !== 'evidence' && verifier !== 'heuristic')
    throw usageError(`Expected --verifier to be evidence or heuristic, got '${verifier}'`);
  for (const option of ['explain', 'report'] as const)
    if (values[option] === true && verifier === 'heuristic')
      throw usageError(`--${option} needs the evidence fields, which --verifier heuristic leaves out`);
  return {
    isExplained: values.explain === true,
    isReported: values.report === true,
    config: resolveSignalConfig({ verifier, enableEvidence: verifier !== 'heuristic' }),
    withNormalized: values['with-normalized'] ?? false,
    at: values.at === undefined ? new Date() : toTime(values.at),
    overrides: values.prices === undefined ? undefined : await readPrices(values.prices),
  };
}

/** A date, meaning midnight UTC, or a time with a zone. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

function toTime(text: string): Date {
  const time = new Date(text);
  // Date would accept an invalid day as one of the next month.
  const midnight = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text.slice(0, 10));
  if (ISO_TIME.test(text) && exists && !Number.isNaN(time.getTime())) return time;
  const expected = 'a date or a time with its zone, e.g. 2026-02-10 or 2026-02-10T12:00:00Z';
  throw usageError(`Expected --at to be ${expected}, got '${text}'`);
}

function requiredText(input: JsonObject, key: string): string {
  const text = optionalText(input, key);
  if (text === undefined) throw new ObservatoryError('INVALID_INPUT', `Expected \`${key}\`, got none`);
  return text;
}

/** Null counts as absent. */
function optionalText(input: JsonObject, key: string): string | undefined {
  const value = input[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new ObservatoryError('INVALID_INPUT', `Expected \`${key}\` to be a string, got ${readKind(value)}`);
}

function optionalSteps(input: JsonObject): readonly TraceStep[] | undefined {
  const { steps } = input;
  if (steps === undefined || steps === null) return undefined;
  if (!Array.isArray(steps))
    throw new ObservatoryError('INVALID_INPUT', `Expected \`steps\` to be an array, got ${readKind(steps)}`);
  return steps.map((step: unknown, index) => {
    if (!isObject(step) || typeof step.tool !== 'string')
      throw new ObservatoryError('INVALID_INPUT', `Expected \`steps[${index}]\` to have a \`tool\``);
    return {
      tool: step.tool,
      arguments: step.arguments,
      result: step.result,
      ...(step.is_error != null && { isError: step.is_error === true }),
    };
  });
}

function optionalCount(input: JsonObject, key: string): number | undefined {
  const value = input[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  const seen = typeof value === 'number' ? String(value) : readKind(value);
  throw new ObservatoryError(
    'INVALID_INPUT',
    `Expected \`${key}\` to be a whole number from 0 up, got ${seen}`,
  );
}
