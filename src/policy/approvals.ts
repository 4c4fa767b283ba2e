/**
 * Human approval of one exact call. An approval is bound to caller, server, tool, tool hash, arguments digest and
 * policy hash, can be used once, and expires; a call that differs in any of these needs a new one.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { printable } from '../base/index.ts';
import type { Decision } from './decision.ts';
import type { GateCall } from './gate-types.ts';

/** The call that an approval covers. */
export interface ApprovalBinding {
  readonly caller: string;
  readonly server: string;
  readonly tool: string;
  readonly toolHash: string;
  readonly argsDigest: string;
  readonly policyHash: string;
}

/** What an approval of this call covers, given its decision. */
export function bindingOf(call: GateCall, decision: Decision): ApprovalBinding {
  return {
    caller: call.caller ?? '',
    server: call.server,
    // A tool may have the name of a method.
    tool: call.method === undefined ? call.tool : `\0${call.method}`,
    toolHash: decision.toolHash ?? '',
    argsDigest: decision.argsDigest ?? '',
    policyHash: decision.policyHash ?? '',
  };
}

interface Approval {
  readonly fingerprint: Buffer;
  readonly expiresAt: number;
}

/** Most unused approvals kept; the oldest is dropped first. */
const MAX_WAITING = 10_000;

export class Approvals {
  readonly #waiting = new Map<string, Approval>();

  /**
   * Approves a call, on a human's word.
   * @param expiresMs how long the approval can be used, in milliseconds.
   * @returns the token that the call is then made with.
   */
  grant(binding: ApprovalBinding, expiresMs = 300_000): string {
    const token = randomBytes(24).toString('base64url');
    if (this.#waiting.size >= MAX_WAITING) {
      const oldest = this.#waiting.keys().next();
      if (oldest.done !== true) this.#waiting.delete(oldest.value);
    }
    this.#waiting.set(token, { fingerprint: fingerprint(binding), expiresAt: Date.now() + expiresMs });
    return token;
  }

  /** Spends an approval. True only once, before it expires, and for exactly the call it was granted for. */
  redeem(token: string, binding: ApprovalBinding): boolean {
    const approval = this.#waiting.get(token);
    if (approval === undefined) return false;
    // Spent on a mismatch too: a token tried on another call is in the wrong hands.
    this.#waiting.delete(token);
    return Date.now() < approval.expiresAt && timingSafeEqual(approval.fingerprint, fingerprint(binding));
  }
}

function fingerprint(binding: ApprovalBinding): Buffer {
  const { caller, server, tool, toolHash, argsDigest, policyHash } = binding;
  const text = JSON.stringify([caller, server, tool, toolHash, argsDigest, policyHash]);
  return createHash('sha256').update(text).digest();
}

/**
 * A text that is safe to show to an approver: control, bidirectional and invisible characters, which make one call look
 * like another, are escaped, and at most `maxChars` characters are kept.
 */
export function cleanPreview(text: string, maxChars = 2_000): string {
  const shown = printable(text.slice(0, maxChars));
  return text.length > maxChars ? `${shown} [${text.length - maxChars} more characters]` : shown;
}
