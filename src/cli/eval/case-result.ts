/** What one hand-written case of the offline evaluation came to. */
export interface CaseResult {
  readonly name: string;
  readonly expected: string;
  readonly observed: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Fails where something else was observed than expected. */
export const result = (name: string, expected: string, observed: string, detail = ''): CaseResult => ({
  name,
  expected,
  observed,
  ok: expected === observed,
  detail,
});
