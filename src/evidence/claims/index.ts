export { findClaims } from './find-claims.ts';
export type { ClaimFinding, ClaimInput, ClaimKind, TraceStep } from './types.ts';
