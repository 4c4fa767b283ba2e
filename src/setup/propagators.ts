import { diag } from '@opentelemetry/api';

/** The propagators that the core of either SDK line has, by their names in `OTEL_PROPAGATORS`. */
const CLASSES: ReadonlyMap<string, string> = new Map([
  ['tracecontext', 'W3CTraceContextPropagator'],
  ['baggage', 'W3CBaggagePropagator'],
]);

/**
 * The class names that `OTEL_PROPAGATORS` asks for: both by default, none for `none`. Of others `diag` is told; an
 * application that needs one sets it as the global propagator, which then stays.
 */
export function propagatorsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  const names = (env.OTEL_PROPAGATORS ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  if (names.length === 0) return [...CLASSES.values()];
  const asked: string[] = [];
  for (const name of new Set(names)) {
    const className = CLASSES.get(name);
    if (className !== undefined) asked.push(className);
    else if (name !== 'none') {
      diag.warn(
        `mcp-observatory: OTEL_PROPAGATORS=${name} is not supported here; use tracecontext, baggage or none`,
      );
    }
  }
  return asked;
}
