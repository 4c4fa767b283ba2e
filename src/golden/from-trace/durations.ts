import { canonicalJson } from '../../json/index.ts';
import type { Golden, GoldenOutput } from '../file/index.ts';
import type { StoredCall, StoredRun } from './stored-run.ts';

/** The golden with the times of the trace in place of those the playback took. */
export function withStoredTimes(golden: Golden, run: StoredRun): Golden {
  const left = [...run.calls];
  const take = (server: string, tool: string, args: unknown): StoredCall | undefined => {
    const wanted = canonicalJson(args ?? {});
    const at = left.findIndex(
      (call) => call.server === server && call.tool === tool && canonicalJson(call.arguments) === wanted,
    );
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const calls = (golden.mcp_cassette?.calls ?? []).map((call) => ({
    ...call,
    duration_ms: Math.round(take(call.server, call.tool, call.arguments)?.durationMs ?? 0),
  }));
  const provider_responses = golden.provider_responses.map((exchange, index) => ({
    ...exchange,
    duration_ms: Math.round(run.turns[index]?.durationMs ?? 0),
  }));
  const mcp_cassette = golden.mcp_cassette === null ? null : { ...golden.mcp_cassette, calls };
  return {
    ...golden,
    provider_responses,
    mcp_cassette,
    golden_output: outputWithTimes(golden.golden_output, run),
  };
}

function outputWithTimes(output: GoldenOutput, run: StoredRun): GoldenOutput {
  const left = [...run.calls];
  const chain = recordsOf(output.tool_chain).map((entry) => {
    const args = canonicalJson(entry.arguments ?? {});
    const at = left.findIndex(
      (call) => `${call.server}.${call.tool}` === entry.tool_name && canonicalJson(call.arguments) === args,
    );
    const ms = at < 0 || entry.cached === true ? 0 : (left.splice(at, 1)[0]?.durationMs ?? 0);
    return { ...entry, execution_time: ms / 1000 };
  });
  const metadata = (output.execution_metadata ?? {}) as GoldenOutput;
  return {
    ...output,
    tool_chain: chain,
    execution_metadata: {
      ...metadata,
      total_execution_time: run.durationMs / 1000,
      tool_performance: recordsOf(metadata.tool_performance).map((figures) => {
        const times = chain
          .filter((entry) => 'tool_name' in entry && entry.tool_name === figures.tool_name)
          .map((entry) => entry.execution_time);
        const total = times.reduce((sum, time) => sum + time, 0);
        return {
          ...figures,
          total_time: total,
          mean_time: times.length === 0 ? 0 : total / times.length,
          max_time: Math.max(0, ...times),
        };
      }),
    },
  };
}

function recordsOf(value: unknown): readonly GoldenOutput[] {
  return Array.isArray(value) ? (value as readonly GoldenOutput[]) : [];
}
