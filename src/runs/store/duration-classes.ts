/** Durations of a class are at most this many times its beginning (`mcp_runs_duration_class`): its middle is at most 1 % off. */
const CLASS_RATIO = 1.02;

/** How many durations each class holds. */
export type DurationClasses = Iterable<readonly [place: number, count: number]>;

/** The duration in milliseconds that a fraction of all does not exceed; null where there are none. */
export function findPercentile(counts: DurationClasses, fraction: number): number | null {
  const classes = [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
  let left = classes.reduce((sum, [, count]) => sum + count, 0) * fraction;
  for (const [place, count] of classes) {
    if (left <= count) return CLASS_RATIO ** (place + 0.5);
    left -= count;
  }
  return null;
}
