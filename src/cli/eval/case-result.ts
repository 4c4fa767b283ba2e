/** Result of one hand-written case of the offline evaluation. */
export interface CaseResult {
  readonly name: string;
  readonly expected: string;
  readonly observed: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Fails if the observation differs from the expectation. */
export const result = (name: string, expected: string, observed: string, detail = ''): CaseResult => ({
  name,
  expected,
  observed,
  ok: expected === observed,
  detail,
});
