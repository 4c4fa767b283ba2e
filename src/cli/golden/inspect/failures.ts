import type { Golden } from '../../../golden/index.ts';
import type { FailurePoint, Step } from './story.ts';
import { recordsOf } from './tool-steps.ts';

/** Finish reasons that say the model was not done, in the words of the providers. */
const UNFINISHED: ReadonlyMap<string, string> = new Map([
  ['length', 'the answer was cut off by the output limit'],
  ['max_tokens', 'the answer was cut off by the output limit'],
  ['max_output_tokens', 'the answer was cut off by the output limit'],
  ['model_context_window_exceeded', 'the context window is full'],
  ['content_filter', 'the provider blocked the answer'],
  ['refusal', 'the model refused'],
  ['safety', 'the provider blocked the answer'],
  ['recitation', 'the provider blocked the answer'],
  ['prohibited_content', 'the provider blocked the answer'],
  ['malformed_function_call', 'the tool call could not be read'],
]);

/** The failure points of a run, in the order of its steps; then what belongs to no step. */
export function failurePoints(golden: Golden, steps: readonly Step[]): FailurePoint[] {
  const found = steps.flatMap((step, index) => failureOf(step, index + 1));
  for (const { iteration, tool_name, error } of recordsOf(golden.golden_output.errors)) {
    // Before the first turn: a server that could not be reached, a plan that could not be made.
    if (iteration === 0)
      found.push({ step: undefined, what: String(tool_name), message: String(error), recovery: undefined });
  }
  const { success, execution_metadata: metadata } = golden.golden_output;
  if (success === false) {
    const reason = (metadata as { readonly stop_reason?: unknown } | undefined)?.stop_reason;
    const why = typeof reason === 'string' ? reason.replaceAll('_', ' ') : 'no reason is told';
    found.push({
      step: undefined,
      what: 'the run',
      message: `ended without success: ${why}`,
      recovery: undefined,
    });
  }
  return found;
}

function failureOf(step: Step, number: number): FailurePoint[] {
  if (step.kind === 'tool') {
    const { failure, name, recovery } = step;
    return failure === undefined ? [] : [{ step: number, what: name, message: failure, recovery }];
  }
  if (step.kind !== 'model') return [];
  const what = `${step.model ?? 'the model'}, turn ${step.turn}`;
  if (step.failure !== undefined) {
    return [{ step: number, what, message: step.failure, recovery: undefined }];
  }
  const reason = step.refused ? 'refusal' : (step.finishReason?.toLowerCase() ?? '');
  const unfinished = UNFINISHED.get(reason);
  return unfinished === undefined ? [] : [{ step: number, what, message: unfinished, recovery: undefined }];
}
