import { scoreEvidence, type TraceStep } from '../../src/evidence/index.ts';

/** A tool call and its result. */
export const call = (tool: string, args: unknown, result: unknown): TraceStep => ({
  tool,
  arguments: args,
  result,
});

/** The findings of the trace, without those that only support by documents gives. */
export const traceFindings = (prompt: string, answer: string, steps: readonly TraceStep[]) =>
  (scoreEvidence({ prompt, answer, steps })?.findings ?? []).filter(
    ({ kind }) => !kind.startsWith('unsupported_'),
  );

/** The kinds of {@link traceFindings}. */
export const kinds = (prompt: string, answer: string, steps: readonly TraceStep[]) =>
  traceFindings(prompt, answer, steps).map(({ kind }) => kind);
