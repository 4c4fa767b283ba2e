export { type ClaimFinding, type ClaimInput, type ClaimKind, findClaims } from './find-claims.ts';
export type { TraceStep } from './outcome.ts';
