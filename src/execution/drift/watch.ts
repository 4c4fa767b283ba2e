import { diag, type MeterProvider } from '@opentelemetry/api';
import { checkKinds, having, invalidOption, kinds, required, withoutTracing } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { observeDrift } from './metrics.ts';
import { checkRule, driftReport } from './report.ts';
import type { DriftQuery, DriftReport, DriftRule } from './types.ts';

export interface WatchDriftOptions extends Omit<DriftQuery, 'until'>, DriftRule {
  /** The database. It is not closed. */
  readonly db: Queryable;
  /** Time from one report to the next, in milliseconds. @defaultValue 900000, a quarter of an hour */
  readonly intervalMs?: number | undefined;
  /** @defaultValue the globally registered provider */
  readonly meterProvider?: MeterProvider | undefined;
  /** Called with each report. Errors it throws are logged through `diag`. */
  readonly onReport?: ((report: DriftReport) => void) | undefined;
}

/** A running watch. It does not keep the process alive. */
export interface DriftWatch extends AsyncDisposable {
  readonly report: DriftReport | undefined;
  /** Ends the watch after the current report. */
  close(): Promise<void>;
}

const QUARTER_OF_AN_HOUR = 900_000;

/** The rule and the time are checked with the report. */
const OPTIONS = {
  db: required(having('an object with a method query()', 'query')),
  intervalMs: kinds.number,
  sinceMs: required(kinds.number),
  baselineMs: kinds.number,
  meterProvider: having('a MeterProvider', 'getMeter'),
  onReport: kinds.function,
  service: kinds.string,
  toolName: kinds.string,
};

/**
 * Computes a drift report periodically and publishes it as `observatory.drift.*` gauges, for alerts in the metrics back
 * end. A failed report is logged through `diag`; the last good one stays.
 *
 * @throws ObservatoryError `INVALID_OPTION` for a length or limit that cannot be used.
 */
export function watchDrift(options: WatchDriftOptions): DriftWatch {
  checkKinds(options, OPTIONS, 'watchDrift()');
  const { db, intervalMs = QUARTER_OF_AN_HOUR, meterProvider, onReport, sinceMs } = options;
  checkRule(options);
  for (const [name, ms] of Object.entries({ intervalMs, sinceMs })) {
    if (!(ms >= 1)) throw invalidOption(`\`${name}\``, '1 or more', ms);
  }
  let report: DriftReport | undefined;
  let underWay: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    try {
      report = await withoutTracing(() => driftReport(db, options, options));
      onReport?.(report);
    } catch (error) {
      diag.warn('mcp-observatory: the drift of prompts could not be told', error);
    } finally {
      underWay = undefined;
    }
  };
  const begin = () => {
    underWay ??= look();
  };
  const endMetrics = observeDrift(() => report, meterProvider);
  const timer = setInterval(begin, intervalMs).unref();
  begin();
  const close = async () => {
    clearInterval(timer);
    await underWay;
    endMetrics();
  };
  return {
    get report() {
      return report;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
