import { type Span, trace } from '@opentelemetry/api';
import { checkKinds, invalidOption, kinds, required } from '../base/index.ts';
import { attachInteraction, interactionKind, type SpanView } from '../interaction/index.ts';
import { toAttributes } from '../processor/index.ts';
import {
  compareAnswers,
  type ShadowComparison,
  type Shadowed,
  Shadowing,
  type ShadowOptions,
  type ShadowRunContext,
  withShutdown,
} from './shadow/index.ts';

/** Options of `selfConsistency`; limits and readers are those of `shadow`. */
export interface SelfConsistencyOptions<A extends unknown[], R>
  extends Omit<ShadowOptions<A, R>, 'primary' | 'candidate'> {
  /** Asks the model. */
  readonly call: (...args: A) => R;
  /** The second call, for instance with another temperature or seed. @defaultValue `call` */
  readonly second?: ((...args: [...A, ShadowRunContext]) => unknown) | undefined;
  /**
   * `shadow`: the caller gets the first answer at once. `inline`: it also waits for the second one, at most `timeoutMs`
   * from the start, so that the score is on its own span and can be acted on. @defaultValue 'shadow'
   */
  readonly mode?: 'shadow' | 'inline' | undefined;
}

/**
 * Repeats a sample of the calls, to check whether the model gives the same answer. The caller always gets the first
 * answer or its error.
 *
 * The run of the second answer is a shadow run: a trace `self_consistency <name>` of its own, `is_shadow`, linked, with
 * `self_consistency_score` and `numeric_variance_score`. In `inline` mode the span active around the call gets the
 * score too; where that span is a model call (as inside `interceptModelCall`) the second answer also counts in its
 * hallucination risk, unless the signal option `enableSelfConsistency` is off.
 *
 * @throws ObservatoryError `INVALID_OPTION` for an option that cannot be used.
 */
export function selfConsistency<A extends unknown[], R>(
  options: SelfConsistencyOptions<A, R> & { readonly mode: 'inline' },
): Shadowed<A, Promise<Awaited<R>>>;
export function selfConsistency<A extends unknown[], R>(
  options: SelfConsistencyOptions<A, R> & { readonly mode?: 'shadow' | undefined },
): Shadowed<A, R>;
export function selfConsistency<A extends unknown[], R>(
  options: SelfConsistencyOptions<A, R>,
): Shadowed<A, R> | Shadowed<A, Promise<Awaited<R>>> {
  checkKinds(options, { call: required(kinds.function), second: kinds.function }, 'selfConsistency()');
  const { call, second, mode = 'shadow', ...rest } = options;
  if (mode !== 'shadow' && mode !== 'inline') throw invalidOption('`mode`', 'shadow or inline', mode);
  const isAwaited = mode === 'inline';
  const again = second ?? ((...args: [...A, ShadowRunContext]) => call(...(args.slice(0, -1) as A)));
  const shadowing = new Shadowing<A, R>(
    { ...rest, primary: call, candidate: again },
    { word: 'self_consistency', score: compareAnswers, isAwaited },
  );
  if (!isAwaited) {
    return withShutdown(shadowing, function (this: unknown, ...args: A): R {
      return shadowing.call(args, () => Reflect.apply(call, this, args) as R);
    });
  }
  return withShutdown<A, Promise<Awaited<R>>>(shadowing, async function (this: unknown, ...args: A): Promise<
    Awaited<R>
  > {
    const around = trace.getActiveSpan();
    let tell: (comparison: ShadowComparison | undefined) => void = () => {};
    const compared = new Promise<ShadowComparison | undefined>((resolve) => {
      tell = resolve;
    });
    const first = await shadowing.call(args, () => Reflect.apply(call, this, args) as R, tell);
    const comparison = await compared;
    if (around !== undefined && comparison !== undefined) tellSpan(around, comparison);
    return first as Awaited<R>;
  });
}

/** Sets the score on the span around the call. A model call's span also gets the second answer, for its risk. */
function tellSpan(span: Span, { agreement, candidateText }: ShadowComparison): void {
  if (agreement !== undefined) span.setAttributes(toAttributes({ self_consistency_score: agreement }));
  if ('attributes' in span && interactionKind(span as unknown as SpanView) === 'model') {
    attachInteraction(span, { secondaryAnswer: candidateText });
  }
}
