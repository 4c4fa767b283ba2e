import type { Golden, McpCall } from '../../../golden/index.ts';
import { type Message, toolResultText } from '../../../interaction/index.ts';
import type { ToolStep } from './story.ts';

/**
 * The tool calls of a golden, by turn. They come from the tool chain of the output, which distinguishes retries, cached
 * results and refusals from calls that reached a server; without one, from the results in the requests.
 */
export class ToolSteps {
  readonly #turns: (readonly ToolStep[])[];
  readonly #calls: readonly McpCall[];
  readonly #hasChain: boolean;

  constructor(golden: Golden) {
    const chain = readRecords(golden.golden_output.tool_chain);
    const recoveries = new Recoveries(golden.golden_output.errors);
    this.#hasChain = chain.length > 0;
    this.#calls = golden.mcp_cassette?.calls ?? [];
    const byTurn = new Map<number, ToolStep[]>();
    for (const entry of chain) {
      const turn = Number(entry.iteration);
      const steps = byTurn.get(turn) ?? [];
      steps.push(stepOfEntry(entry, (tool) => recoveries.take(turn, tool)));
      byTurn.set(turn, steps);
    }
    this.#turns = [...byTurn.values()];
  }

  /**
   * The calls of the next turn with calls. Turns are not matched by number, since plans and summaries are exchanges that
   * the chain does not count.
   */
  nextTurn(): readonly ToolStep[] {
    return this.#turns.shift() ?? [];
  }

  /** The results in a request, if there is no chain. */
  shownIn(messages: readonly Message[], names: ReadonlyMap<string, CalledTool>): readonly ToolStep[] {
    if (this.#hasChain) return [];
    return messages.flatMap(({ parts }) =>
      parts.flatMap((part) => {
        if (part.type !== 'tool_call_response') return [];
        const called = names.get(part.id ?? '');
        const text = toolResultText(part.response);
        return [
          {
            ...PLAIN_STEP,
            name: part.name ?? called?.name ?? 'tool',
            arguments: called?.arguments,
            result: text,
            failure: part.isError === true ? text : undefined,
          },
        ];
      }),
    );
  }

  /** Calls that belong to no turn: those of an interrupted run, or of a runner without a chain. */
  remaining(shown: number): readonly ToolStep[] {
    if (!this.#hasChain) return shown > 0 ? [] : this.#calls.map(stepOfCall);
    return this.#turns.flat();
  }
}

/** A step of which only the call and its result are known. */
const PLAIN_STEP = { kind: 'tool', ms: undefined, retry: 0, cached: false, recovery: undefined } as const;

export interface CalledTool {
  readonly name: string;
  readonly arguments: unknown;
}

function stepOfEntry(
  entry: Readonly<Record<string, unknown>>,
  recoveryOf: (tool: string) => string | undefined,
): ToolStep {
  const name = String(entry.tool_name);
  const failed = entry.success === false;
  return {
    kind: 'tool',
    name,
    arguments: entry.arguments,
    result: written(entry.result),
    ms: typeof entry.execution_time === 'number' ? entry.execution_time * 1000 : undefined,
    failure: failed ? String(entry.error ?? 'failed') : undefined,
    retry: Number(entry.retry_attempt ?? 0),
    cached: entry.cached === true,
    recovery: failed ? recoveryOf(name) : undefined,
  };
}

function stepOfCall(call: McpCall): ToolStep {
  const failed = call.outcome !== 'result' || call.result?.isError === true;
  const text = call.result === undefined ? '' : toolResultText(call.result);
  return {
    ...PLAIN_STEP,
    name: `${call.server}.${call.tool}`,
    arguments: call.arguments,
    result: text,
    ms: call.duration_ms,
    failure: failed ? (call.error?.message ?? call.message ?? text) : undefined,
  };
}

/** A result as text: strings unchanged, other values as JSON. */
function written(result: unknown): string {
  if (result === undefined || result === null) return '';
  return typeof result === 'string' ? result : JSON.stringify(result);
}

/** Recovery actions: the errors of the output by turn and tool, each used once. */
class Recoveries {
  readonly #left = new Map<string, string[]>();

  constructor(errors: unknown) {
    for (const { iteration, tool_name, recovery_action } of readRecords(errors)) {
      const key = `${String(iteration)} ${String(tool_name)}`;
      const list = this.#left.get(key) ?? [];
      list.push(typeof recovery_action === 'string' ? recovery_action : '');
      this.#left.set(key, list);
    }
  }

  take(turn: number, tool: string): string | undefined {
    return this.#left.get(`${turn} ${tool}`)?.shift()?.replaceAll('_', ' ') || undefined;
  }
}

/** The objects of an untrusted list. */
export function readRecords(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value)) return [];
  return (value as unknown[]).filter(
    (item): item is Readonly<Record<string, unknown>> => typeof item === 'object' && item !== null,
  );
}
