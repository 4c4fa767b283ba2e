import { ObservatoryError } from '../base/index.ts';
import { canonicalJson, isObject, parseContainer, sha256Hex } from '../json/index.ts';
import type { ApprovalRequest } from './approval.ts';

/** The reason of reviews that ask to approve a call. */
export const APPROVAL_REASON = 'approval_required';

/** What an approval is for. */
const BOUND = ['caller', 'server', 'tool', 'toolHash', 'argsDigest', 'policyHash', 'args'] as const;

/** The parts of a request, in the order of the parameters of the database's function. */
export const APPROVAL_PARTS = [...BOUND, 'message', 'ruleIds'] as const;

/** Longest content or response of a review, in bytes of JSON. */
export const MAX_REVIEW_BYTES = 1_048_576;

/**
 * The parts of a request as canonical JSON: the database makes of them what people are shown, and hashes it.
 * @throws ObservatoryError `INVALID_INPUT` if they are too large.
 */
export function approvalParts(request: ApprovalRequest): readonly string[] {
  const parts = APPROVAL_PARTS.map((name) => canonical(request[name]));
  const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  if (bytes <= MAX_REVIEW_BYTES) return parts;
  throw new ObservatoryError(
    'INVALID_INPUT',
    `A call that waits for an approval may have ${MAX_REVIEW_BYTES} bytes as JSON, got ${bytes}`,
  );
}

/**
 * Whether a stored content shows the call that its approval is for. Computed from what is shown, apart from the database.
 * @param content text of the column.
 */
export function isApproval(content: unknown, fingerprint: unknown): boolean {
  const parsed = typeof content === 'string' ? parseContainer(content) : undefined;
  if (!isObject(parsed) || !isObject(parsed.approval)) return false;
  const { approval } = parsed;
  try {
    return sha256Hex(canonical(BOUND.map((name) => approval[name] ?? null))) === fingerprint;
  } catch {
    // Nested too deep for a request of ours.
    return false;
  }
}

function canonical(value: unknown): string {
  return canonicalJson(value, { loneSurrogates: 'escape' });
}
