import { type Message, toolResultText } from '../../interaction/index.ts';
import { canonicalJson } from '../../json/index.ts';
import { readExchange } from '../exchange/index.ts';
import type { Golden } from '../file/index.ts';
import { unusable } from './content.ts';
import type { StoredRun } from './stored-run.ts';

/**
 * Makes sure that the run took the same course when it was played back as in the trace: every request to the model
 * said the same.
 * @throws ObservatoryError `TRACE_UNUSABLE` with the first difference.
 */
export function assertSameCourse(run: StoredRun, golden: Golden): void {
  const exchanges = golden.provider_responses;
  for (const [index, turn] of run.turns.entries()) {
    const exchange = exchanges[index];
    if (exchange === undefined) {
      throw otherCourse(`it ended after ${exchanges.length} of ${run.turns.length} model calls`);
    }
    const [stored, played] = [linesOf(turn.input), linesOf(readExchange(exchange).request)];
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

/** What a request says, part by part, whatever form a provider gives it. */
function linesOf(messages: readonly Message[]): string[] {
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
