import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import {
  computeSignals,
  estimateTokens,
  normalizePrompt,
  type PriceOverrides,
  priceUsage,
  resolvePriceOverrides,
  resolveSignalConfig,
  type SignalInput,
} from '../signals/index.ts';
import {
  type Command,
  type CommandIo,
  EXIT_FAILED,
  EXIT_OK,
  kindOf,
  pumpJsonl,
} from './command-line/index.ts';

const HELP = `Usage: mcp-observatory score [options] < calls.jsonl

Computes the fields of recorded calls: hashes, tokens, cost, hallucination scores.

Reads JSON lines from standard input:
  {"id"?, "model"?, "prompt", "answer", "retrieved_context"?, "secondary_answer"?,
   "tool_result_summary"?, "prompt_tokens"?, "completion_tokens"?}
and writes one JSON line for each, in order, with its "id". A line that cannot be
scored gives {"id", "line", "error": {"code", "message"}}, and the rest goes on.

Tokens that are not given are estimated (tokens_estimated is true then). A second
answer turns self-consistency on. Fields that have no value are null.

Options:
  --with-normalized  add normalized_prompt, the text hashed as normalized_prompt_hash
  --at TIME          use the prices of this time, e.g. 2026-02-10T12:00:00Z (default: now)
  --prices FILE      your own prices, a JSON array of {"model", "provider"?,
                     "input_usd_per_million", "output_usd_per_million",
                     "cache_read_usd_per_million"?, "cache_write_usd_per_million"?}
  --json             accepted; the output is always JSON
  --help             show this text

Exit code: 0 when every line was scored, 1 when some were not, 2 for bad usage.`;

interface Settings {
  readonly withNormalized: boolean;
  readonly at: Date;
  readonly overrides: PriceOverrides | undefined;
}

/** `mcp-observatory score`: the observatory's fields for recorded calls, line by line. */
export const scoreCommand: Command = {
  name: 'score',
  summary: 'Compute hashes, cost and hallucination scores of recorded calls (JSONL)',
  help: HELP,
  async run(args, io) {
    const settings = await readSettings(args, io);
    if (settings === undefined) return EXIT_OK;
    const failures = await pumpJsonl(io, (input) => score(input, settings));
    return failures === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

/** Self-consistency is on: it is computed whenever there is a second answer. */
const config = resolveSignalConfig({ enableSelfConsistency: true });

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
  const texts: SignalInput = {
    prompt,
    answer,
    retrievedContext: optionalText(input, 'retrieved_context'),
    secondaryAnswer: optionalText(input, 'secondary_answer'),
    toolResultSummary: optionalText(input, 'tool_result_summary'),
  };
  const givenPrompt = optionalCount(input, 'prompt_tokens');
  const givenCompletion = optionalCount(input, 'completion_tokens');
  const inputTokens = givenPrompt ?? estimateTokens(prompt, model);
  const outputTokens = givenCompletion ?? estimateTokens(answer, model);
  const { at, overrides } = settings;
  const price = priceUsage({ usage: { inputTokens, outputTokens }, model, at, overrides });
  const signals = computeSignals(texts, config);
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
  if (settings.withNormalized) row.normalized_prompt = normalizePrompt(prompt);
  return row;
}

/** Undefined when help was requested and printed. */
async function readSettings(args: readonly string[], io: CommandIo): Promise<Settings | undefined> {
  const { values } = parse(args);
  if (values.help === true) {
    io.stdout.write(`${HELP}\n`);
    return undefined;
  }
  return {
    withNormalized: values['with-normalized'] ?? false,
    at: values.at === undefined ? new Date() : timeOf(values.at),
    overrides: values.prices === undefined ? undefined : await readPrices(values.prices),
  };
}

function parse(args: readonly string[]) {
  const options = {
    'with-normalized': { type: 'boolean' },
    at: { type: 'string' },
    prices: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
  } catch (cause) {
    const message = `${(cause as Error).message}; see mcp-observatory score --help`;
    throw new ObservatoryError('INVALID_OPTION', message, { cause });
  }
}

/** A date, meaning midnight UTC, or a time with a zone. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

function timeOf(text: string): Date {
  const time = new Date(text);
  // Date would accept an invalid day as one of the next month.
  const midnight = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text.slice(0, 10));
  if (ISO_TIME.test(text) && exists && !Number.isNaN(time.getTime())) return time;
  const expected = 'a date or a time with its zone, e.g. 2026-02-10 or 2026-02-10T12:00:00Z';
  throw new ObservatoryError('INVALID_OPTION', `Expected --at to be ${expected}, got '${text}'`);
}

async function readPrices(path: string): Promise<PriceOverrides> {
  let entries: unknown;
  try {
    entries = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    const message = `--prices: cannot read '${path}' as JSON: ${(cause as Error).message}`;
    throw new ObservatoryError('INVALID_OPTION', message, { cause });
  }
  // Entries are validated later; only the keys change here.
  const renamed = Array.isArray(entries) ? entries.map(withOptionNames) : entries;
  return resolvePriceOverrides(renamed as Parameters<typeof resolvePriceOverrides>[0]);
}

/** Keys in option style: `input_usd_per_million` is `inputUsdPerMillion`. */
function withOptionNames(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null) return entry;
  const rename = (key: string) => key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(entry).map(([key, value]) => [rename(key), value]));
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
  throw new ObservatoryError('INVALID_INPUT', `Expected \`${key}\` to be a string, got ${kindOf(value)}`);
}

function optionalCount(input: JsonObject, key: string): number | undefined {
  const value = input[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  const seen = typeof value === 'number' ? String(value) : kindOf(value);
  throw new ObservatoryError(
    'INVALID_INPUT',
    `Expected \`${key}\` to be a whole number from 0 up, got ${seen}`,
  );
}
