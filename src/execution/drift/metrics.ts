import { type BatchObservableCallback, type MeterProvider, metrics } from '@opentelemetry/api';
import { BoundedNames, semconv, VERSION } from '../../base/index.ts';
import type { DriftReport } from './types.ts';

/** Maximum number of series; a gauge cannot aggregate the rest. */
const MAX_NAMES = 100;
const OTHER = '_other';

/**
 * The last report as gauges by service and tool: `observatory.drift.alert` (1 where it drifts), `.unexplained_share`,
 * `.new_share` (both 0 to 1) and `.prompt_hashes`.
 *
 * @param latest returns the report to publish; nothing is published while it returns none.
 * @returns a function that removes the gauges.
 */
export function observeDrift(
  latest: () => DriftReport | undefined,
  meterProvider: MeterProvider = metrics.getMeterProvider(),
): () => void {
  const meter = meterProvider.getMeter('mcp-observatory', VERSION);
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(`observatory.drift.${name}`, { unit, description });
  const alert = gauge('alert', '1', '1 where the spread of prompts passes a limit, else 0');
  const unexplained = gauge('unexplained_share', '1', 'Share of prompts new without a new template, 0 to 1');
  const added = gauge('new_share', '1', 'Share of prompts that the baseline has none of, 0 to 1');
  const hashes = gauge('prompt_hashes', '{prompt}', 'Distinct normalized prompts of the window');
  const all = [alert, unexplained, added, hashes];
  const services = new BoundedNames(MAX_NAMES);
  const tools = new BoundedNames(MAX_NAMES);
  const callback: BatchObservableCallback = (result) => {
    for (const group of latest()?.groups ?? []) {
      const service = services.admit(group.service ?? '');
      const tool = tools.admit(group.toolName ?? '');
      if (service === OTHER || tool === OTHER) continue;
      const about = { 'observatory.service': service, [semconv.ATTR_GEN_AI_TOOL_NAME]: tool };
      result.observe(alert, group.status === 'drift' ? 1 : 0, about);
      result.observe(unexplained, group.driftShare, about);
      result.observe(added, group.newShare, about);
      result.observe(hashes, group.hashes, about);
    }
  };
  meter.addBatchObservableCallback(callback, all);
  return () => meter.removeBatchObservableCallback(callback, all);
}
