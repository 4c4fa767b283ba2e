import type { TraceStep } from '../trace/index.ts';
import type { Example } from './types.ts';

/** A run as an example of a rule. */
export const example = (prompt: string, answer: string, ...steps: readonly TraceStep[]): Example => ({
  prompt,
  answer,
  steps,
});

export const call = (tool: string, args: unknown, result: unknown): TraceStep => ({
  tool,
  arguments: args,
  result,
});

export const failure = (tool: string, args: unknown, result: unknown): TraceStep => ({
  tool,
  arguments: args,
  result,
  isError: true,
});
