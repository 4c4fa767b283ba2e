/** Computes costs again, of the usage that is stored, after prices have become known or have changed. */
import { semconv } from '../base/index.ts';
import { isObject, parseContainer, toText } from '../json/index.ts';
import {
  costOfFirst,
  type PriceOverrides,
  priceUsage,
  readUsageUnits,
  type TokenUsage,
} from '../signals/index.ts';
import { toObservatoryError } from './database-error.ts';
import { refuseOtherTables } from './own-tables.ts';
import { nameOfDatabase, type Queryable } from './types.ts';

/** Rows read, and at most changed, by one statement. */
const BATCH = 1000;

export interface RepriceOptions {
  /** Rows that started earlier keep their cost. */
  readonly since: Date;
  /** Prices of the user's own, which take precedence over the table. Without any, rows that have such a price keep it. */
  readonly prices?: PriceOverrides | undefined;
  /** Only compute. @defaultValue false */
  readonly isDryRun?: boolean | undefined;
}

/** Result of {@link reprice}. */
export interface RepriceResult {
  /** Rows whose cost was computed again. */
  readonly checked: number;
  /** Of them, those that have, or in a dry run would have, another cost or source. */
  readonly changed: number;
  /** Sum of the costs of the rows checked, in US dollars. */
  readonly beforeUsd: number;
  readonly afterUsd: number;
  /** Rows that had no cost. */
  readonly newlyPriced: number;
  /** Rows that have no cost any more, by the source that says why. */
  readonly newlyUnpriced: Readonly<Record<string, number>>;
  /** Rows that keep their cost, by source: reported with the call, or of prices that were not given. */
  readonly kept: Readonly<Record<string, number>>;
  /** Days (UTC) in the range whose calls are counted in the roll-ups, and whose rows are pruned or archived: they stay. */
  readonly daysGone: readonly string[];
}

/** Sources of a cost that was reported, and not computed by this package. */
const REPORTED = ['provider', 'instrumentation'] as const;

/**
 * Computes the cost of model calls again from the tokens, units and modes stored, and corrects the roll-ups with the rows.
 * Each batch is a transaction of its own; a second run changes nothing.
 *
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`, for instance because
 *   tables of another program are called alike.
 */
export async function reprice(db: Queryable, options: RepriceOptions): Promise<RepriceResult> {
  const { since, prices, isDryRun = false } = options;
  const kept = prices === undefined ? [...REPORTED, 'override'] : REPORTED;
  const range = [since.toISOString(), new Date().toISOString()];
  const result = { checked: 0, changed: 0, beforeUsd: 0, afterUsd: 0, newlyPriced: 0 };
  const newlyUnpriced: Record<string, number> = {};
  try {
    await refuseOtherTables(db);
    for (let after = FIRST_KEY; ; ) {
      const { rows } = await db.query(PAGE, [...range, `{${kept.join(',')}}`, ...after]);
      const changes = [];
      for (const row of rows) {
        const found = priceRow(row, prices);
        const before = readNumber(row.cost_usd);
        result.checked += 1;
        result.beforeUsd += before ?? 0;
        result.afterUsd += found.cost_usd ?? 0;
        if (isSame(row, found)) continue;
        changes.push({ trace_id: row.trace_id, span_id: row.span_id, was: row.cost_source, ...found });
        if (before === undefined && found.cost_usd !== null) result.newlyPriced += 1;
        if (before !== undefined && found.cost_usd === null)
          newlyUnpriced[found.cost_source] = (newlyUnpriced[found.cost_source] ?? 0) + 1;
      }
      result.changed += isDryRun ? changes.length : await writeCosts(db, changes);
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH) break;
      after = [String(last.trace_id), String(last.span_id)];
    }
    const keptRows = await db.query(KEPT, [...range, `{${kept.join(',')}}`]);
    const gone = await db.query(GONE, range);
    return {
      ...result,
      newlyUnpriced,
      kept: Object.fromEntries(keptRows.rows.map(({ source, rows }) => [String(source), Number(rows)])),
      daysGone: gone.rows.map(({ day }) => String(day)),
    };
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}

/** Below every key. */
const FIRST_KEY: readonly [string, string] = [
  '00000000-0000-0000-0000-000000000000',
  '00000000-0000-0000-0000-000000000000',
];

const CALLS = `start_time >= $1::text::timestamptz AND start_time < $2::text::timestamptz AND counted_on IS NULL`;

/** In the order of the key, which every partition has an index of. */
const PAGE = `SELECT trace_id::text AS trace_id, span_id::text AS span_id,
    (extract(epoch FROM start_time) * 1000)::float8 AS start_ms, model, provider, prompt_tokens, completion_tokens,
    cached_prompt_tokens, cache_write_tokens, reasoning_tokens, usage_units, tokens_disagree, cost_usd, cost_source,
    offered_tools_tokens, offered_tools_cost_usd, attributes ->> '${semconv.ATTR_SERVER_ADDRESS}' AS server_address,
    attributes ->> '${semconv.ATTR_GEN_AI_REQUEST_MODEL}' AS requested_model
  FROM mcp_traces WHERE ${CALLS} AND cost_source <> ALL ($3::text::text[])
    AND (trace_id, span_id) > ($4::text::uuid, $5::text::uuid)
  ORDER BY trace_id, span_id LIMIT ${BATCH}`;

const KEPT = `SELECT cost_source AS source, count(*)::float8 AS rows FROM mcp_traces
  WHERE ${CALLS} AND cost_source = ANY ($3::text::text[]) GROUP BY cost_source ORDER BY cost_source`;

const GONE = `SELECT to_char(day, 'YYYY-MM-DD') AS day FROM (
    SELECT DISTINCT date_trunc('day', hour AT TIME ZONE 'UTC') AS day FROM mcp_models_hourly
    WHERE hour >= date_trunc('hour', $1::text::timestamptz) AND hour < $2::text::timestamptz AND calls > 0
  ) AS days
  WHERE NOT EXISTS (SELECT FROM mcp_traces
    WHERE start_time >= day AT TIME ZONE 'UTC' AND start_time < (day + interval '1 day') AT TIME ZONE 'UTC')
  ORDER BY day`;

type Row = Readonly<Record<string, unknown>>;

/** The columns of a row that depend on prices. */
interface Costs {
  readonly cost_usd: number | null;
  readonly cost_source: string;
  readonly offered_tools_cost_usd: number | null;
}

function priceRow(row: Row, overrides: PriceOverrides | undefined): Costs {
  const usage = readUsage(row);
  const provider = toText(row.provider);
  const address = toText(row.server_address);
  const price = {
    model: toText(row.model),
    provider,
    providerApiUrl: address === undefined ? undefined : `https://${address}`,
    requestedModel: provider === 'aws.bedrock' ? toText(row.requested_model) : undefined,
    serviceTier: usage.modes?.find((mode) => mode.startsWith('tier '))?.slice('tier '.length),
    at: new Date(Number(row.start_ms)),
    overrides,
  };
  const { costUsd, costSource } = priceUsage({ ...price, usage });
  const offered = readNumber(row.offered_tools_tokens);
  const offeredCost = offered === undefined ? undefined : costOfFirst(offered, usage, price);
  return {
    cost_usd: costUsd ?? null,
    cost_source: costSource,
    offered_tools_cost_usd: offeredCost ?? null,
  };
}

function readUsage(row: Row): TokenUsage {
  const units = typeof row.usage_units === 'string' ? parseContainer(row.usage_units) : undefined;
  return {
    inputTokens: readNumber(row.prompt_tokens),
    outputTokens: readNumber(row.completion_tokens),
    cacheReadTokens: readNumber(row.cached_prompt_tokens),
    cacheWriteTokens: readNumber(row.cache_write_tokens),
    reasoningTokens: readNumber(row.reasoning_tokens),
    ...(isObject(units) ? readUsageUnits(units) : {}),
    ...(row.tokens_disagree === true ? { disagrees: true } : {}),
  };
}

function isSame(row: Row, found: Costs): boolean {
  return (
    (row.cost_usd ?? null) === found.cost_usd &&
    row.cost_source === found.cost_source &&
    (row.offered_tools_cost_usd ?? null) === found.offered_tools_cost_usd
  );
}

/** @returns the rows changed: not those that were settled meanwhile, or priced by another run. */
async function writeCosts(db: Queryable, changes: readonly object[]): Promise<number> {
  if (changes.length === 0) return 0;
  const { rows } = await db.query('SELECT mcp_traces_reprice($1::text::jsonb)::float8 AS changed', [
    JSON.stringify(changes),
  ]);
  return Number(rows[0]?.changed);
}

const readNumber = (value: unknown): number | undefined =>
  Number.isFinite(value) ? Number(value) : undefined;
