const FAILURES = ['failed', 'error', 'declined'] as const;

/** Whether a tool's summary speaks of a failure: `failed`, `error` or `declined`, in any case, anywhere. */
export function reportsFailure(summary: string): boolean {
  const text = summary.toLowerCase();
  return FAILURES.some((word) => text.includes(word));
}
