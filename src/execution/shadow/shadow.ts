import { compareTexts } from './comparison.ts';
import { Shadowing } from './shadowing.ts';
import type { Shadowed, ShadowOptions } from './types.ts';

/**
 * Runs a candidate alongside a function, to learn its answers, cost and latency. The returned function has the
 * primary's signature, result, errors and speed: the candidate starts in a later turn of the event loop, and its
 * errors, hangs and delays do not affect the caller.
 *
 * Each run is a separate trace, `shadow <name>`, linked to the span the call was made in (or to one made around the
 * primary where there is none), with `is_shadow`, `shadow_parent_trace_id`, `shadow_disagreement_score` and
 * `shadow_numeric_variance`. All GenAI and MCP spans of the candidate are marked as shadow too.
 *
 * ```ts
 * const ask = shadow({ primary: askGpt4o, candidate: askMini, sample: 0.1, maxConcurrency: 4, budgetUsd: 5 });
 * const answer = await ask(prompt);
 * ```
 *
 * @throws ObservatoryError `INVALID_OPTION` for an option that cannot be used.
 */
export function shadow<A extends unknown[], R>(options: ShadowOptions<A, R>): Shadowed<A, R> {
  const shadowing = new Shadowing(options, { word: 'shadow', score: compareTexts, isAwaited: false });
  const { primary } = options;
  return withShutdown(shadowing, function (this: unknown, ...args: A): R {
    return shadowing.call(args, () => Reflect.apply(primary, this, args) as R);
  });
}

/** Adds the name, `stats` and `close` to the wrapped function. */
export function withShutdown<A extends unknown[], R>(
  shadowing: Pick<Shadowing<A, R>, 'name' | 'stats' | 'shutdown'>,
  call: (this: unknown, ...args: A) => R,
): Shadowed<A, R> {
  const shutdown = (deadlineMs?: number) => shadowing.shutdown(deadlineMs);
  Object.defineProperty(call, 'name', { value: shadowing.name });
  Object.defineProperty(call, 'stats', { get: () => shadowing.stats });
  return Object.assign(call, {
    shutdown,
    [Symbol.asyncDispose]: () => shutdown(),
  }) as unknown as Shadowed<A, R>;
}
