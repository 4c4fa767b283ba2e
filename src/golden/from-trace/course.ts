import { type Message, toolResultText } from '../../interaction/index.ts';
import { canonicalJson } from '../../json/index.ts';
import { type Golden, type GoldenOutput, readExchange } from '../file/index.ts';
import { unusable } from './spans.ts';
import { type StoredRun, takeCall } from './stored-run.ts';

/**
 * Asserts that the played run took the same course as the trace: every request to the model had the same content.
 * @throws ObservatoryError `TRACE_UNUSABLE` with the first difference.
 */
export function assertSameCourse(run: StoredRun, golden: Golden): void {
  const exchanges = golden.provider_responses;
  for (const [index, turn] of run.turns.entries()) {
    const exchange = exchanges[index];
    if (exchange === undefined) {
      throw otherCourse(`it ended after ${exchanges.length} of ${run.turns.length} model calls`);
    }
    const [stored, played] = [listLines(turn.input), listLines(readExchange(exchange).request)];
    const at = stored.findIndex((line, position) => line !== played[position]);
    if (at < 0 && stored.length === played.length) continue;
    const place = at < 0 ? stored.length : at;
    throw otherCourse(
      `request ${index + 1} says ${short(played[place])} where the trace has ${short(stored[place])}`,
    );
  }
  if (exchanges.length > run.turns.length) {
    throw otherCourse(`it made ${exchanges.length} model calls, the trace has ${run.turns.length}`);
  }
}

function otherCourse(how: string): Error {
  return unusable(
    `The run took another course when it was played back from the trace: ${how}. Options that spans do not tell (a gate, budgets, limits on results) or another version of mcp-observatory may be why; record the run with golden: { mode: 'record' } instead`,
  );
}

/** The content of a request, part by part, independent of the provider. */
function listLines(messages: readonly Message[]): string[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      switch (part.type) {
        case 'text':
          return part.content.trim() === '' ? [] : [part.content];
        case 'tool_call':
          return [`${part.name} ${canonicalJson(part.arguments ?? {})}`];
        case 'tool_call_response':
          return [`result ${toolResultText(part.response)}`];
        default:
          return [];
      }
    }),
  );
}

function short(line: string | undefined): string {
  if (line === undefined) return 'nothing';
  return JSON.stringify(line.length > 160 ? `${line.slice(0, 160)}…` : line);
}

/** Replaces the times of the played run by those of the trace. */
export function withStoredTimes(golden: Golden, run: StoredRun): Golden {
  const left = [...run.calls];
  const calls = (golden.mcp_cassette?.calls ?? []).map((call) => ({
    ...call,
    duration_ms: Math.round(takeCall(left, call.server, call.tool, call.arguments)?.durationMs ?? 0),
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
  const chain = readRecords(output.tool_chain).map((entry) => {
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
      tool_performance: readRecords(metadata.tool_performance).map((figures) => {
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

function readRecords(value: unknown): readonly GoldenOutput[] {
  return Array.isArray(value) ? (value as readonly GoldenOutput[]) : [];
}
