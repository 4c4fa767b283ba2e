import type { Instrumentation } from '@opentelemetry/instrumentation';

/**
 * Keeps the `require` hook of these instrumentations to them. All instrumentations share one, which looks at a module
 * once: what is required after ours and before those of the application, `http` for instance, would never be patched by
 * the application's. These get a hook of their own, as they would without us.
 */
export function keepRequireHook(instrumentations: readonly Instrumentation[]): void {
  for (const instrumentation of instrumentations) {
    const hook: unknown = Reflect.get(instrumentation, '_requireInTheMiddleSingleton');
    if (typeof hook !== 'object' || hook === null) continue;
    const owner = hook.constructor;
    if (Reflect.get(owner, '_instance') === hook) Reflect.set(owner, '_instance', undefined);
  }
}
