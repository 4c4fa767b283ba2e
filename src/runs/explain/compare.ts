import type { RunSpan } from '../store/index.ts';
import { type RunCall, toFacts } from './facts.ts';

/** Calls of each run that are aligned; further ones are counted only. */
const MAX_CALLS = 1000;

/** One line of the calls of two runs: in both, only in the first (`-`), or only in the second (`+`). */
export interface ComparedCall {
  readonly mark: '=' | '-' | '+';
  readonly a: RunCall | undefined;
  readonly b: RunCall | undefined;
}

/** A figure of both runs; null where it cannot be known. */
export interface ComparedFigure {
  readonly name:
    | 'calls'
    | 'failed'
    | 'denied'
    | 'withheld'
    | 'model_calls'
    | 'input_tokens'
    | 'output_tokens'
    | 'cost_usd'
    | 'duration_ms';
  readonly a: number | null;
  readonly b: number | null;
}

/** What differs between two runs. */
export interface Comparison {
  readonly figures: readonly ComparedFigure[];
  readonly calls: readonly ComparedCall[];
  /** Calls beyond the first 1,000 of a run, which are not aligned. */
  readonly leftOut: number;
}

/** Compares two runs: figures, and the tool calls aligned by the longest common sequence of server and tool. */
export function compareRuns(a: readonly RunSpan[], b: readonly RunSpan[]): Comparison {
  const [one, other] = [toFacts(a), toFacts(b)];
  const figure = (
    name: ComparedFigure['name'],
    of: (facts: typeof one) => number | null,
  ): ComparedFigure => ({
    name,
    a: of(one),
    b: of(other),
  });
  // A call that failed may have none; of one that was answered they are not known.
  const sum = (spans: readonly RunSpan[], of: (span: RunSpan) => number | null) =>
    spans.some((span) => span.status === 'ok' && of(span) === null)
      ? null
      : spans.reduce((total, span) => total + (of(span) ?? 0), 0);
  return {
    figures: [
      figure('calls', (facts) => facts.calls.length),
      figure('failed', (facts) => facts.failed.length + facts.mended.length),
      figure('denied', (facts) => facts.denied.length),
      figure('withheld', (facts) => facts.withheld.length),
      figure('model_calls', (facts) => facts.modelCalls.length),
      figure('input_tokens', (facts) => sum(facts.modelCalls, (span) => span.promptTokens)),
      figure('output_tokens', (facts) => sum(facts.modelCalls, (span) => span.completionTokens)),
      figure('cost_usd', (facts) => (facts.unpriced.length > 0 ? null : facts.costUsd)),
      figure('duration_ms', (facts) => facts.durationMs),
    ],
    calls: align(one.calls.slice(0, MAX_CALLS), other.calls.slice(0, MAX_CALLS)),
    leftOut: Math.max(0, one.calls.length - MAX_CALLS) + Math.max(0, other.calls.length - MAX_CALLS),
  };
}

function align(a: readonly RunCall[], b: readonly RunCall[]): ComparedCall[] {
  const isSame = (i: number, j: number) => {
    const [one, other] = [a[i] as RunCall, b[j] as RunCall];
    return one.tool === other.tool && one.span.server === other.span.server;
  };
  const width = b.length + 1;
  // Length of the longest common sequence of what follows i and j.
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] as number;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = isSame(i, j) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const calls: ComparedCall[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && isSame(i, j)) calls.push({ mark: '=', a: a[i++], b: b[j++] });
    else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      calls.push({ mark: '-', a: a[i++], b: undefined });
    } else calls.push({ mark: '+', a: undefined, b: b[j++] });
  }
  return calls;
}
