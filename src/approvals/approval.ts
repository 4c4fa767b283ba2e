/**
 * Human approval of one exact call. An approval is bound to caller, server, tool, tool hash, arguments digest and
 * policy hash, and expires; a call that differs in any of these needs a new one. It is for one call, unless a person says
 * otherwise: for the same call as often as it is made in a session, or until the definition of the tool changes.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { printable } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import type { PostgresConnection } from '../postgres/index.ts';

/** The call that an approval covers. */
export interface ApprovalBinding {
  readonly caller: string;
  readonly server: string;
  readonly tool: string;
  readonly toolHash: string;
  readonly argsDigest: string;
  readonly policyHash: string;
}

export const APPROVAL_SCOPES = ['once', 'session', 'definition'] as const;

/** How far an approval goes: one call, the same call in one session, or the same call under this definition of the tool. */
export type ApprovalScope = (typeof APPROVAL_SCOPES)[number];

/** How long approvals can be used once they are given, in milliseconds. Absent is a scope that cannot be given. */
export interface ApprovalLimits {
  /** A rejection stands as long. */
  readonly usableMs: number;
  readonly sessionMs?: number | undefined;
  readonly definitionMs?: number | undefined;
}

/** The approvals of a policy, as its file has them. */
export interface ApprovalDocument {
  readonly expires_seconds?: number | undefined;
  /** What a person may choose. One call can always be approved. Default: all three. */
  readonly scopes?: readonly ApprovalScope[] | undefined;
  readonly session_seconds?: number | undefined;
  readonly definition_seconds?: number | undefined;
}

const SESSION_SECONDS = 28_800;
const DEFINITION_SECONDS = 2_592_000;

/** What a policy says about approvals. */
export function approvalLimits(document: ApprovalDocument = {}): ApprovalLimits {
  const { expires_seconds, scopes = ['session', 'definition'] } = document;
  const formatMs = (scope: ApprovalScope, seconds: number) =>
    scopes.includes(scope) ? seconds * 1_000 : undefined;
  return {
    usableMs: expires_seconds === undefined ? APPROVAL_MS : expires_seconds * 1_000,
    sessionMs: formatMs('session', document.session_seconds ?? SESSION_SECONDS),
    definitionMs: formatMs('definition', document.definition_seconds ?? DEFINITION_SECONDS),
  };
}

/** A call that is held for a person, and what the person is shown. */
export interface ApprovalRequest extends ApprovalBinding, ApprovalLimits {
  /** SHA-256 of the binding, hex: an approval is for calls with this one. */
  readonly fingerprint: string;
  /** SHA-256 of caller, server and tool, hex: what a changed definition ends approvals of. */
  readonly subject: string;
  /** The session it is asked in, which an approval for a session is bound to. */
  readonly sessionId?: string | undefined;
  readonly args: JsonObject;
  /** Why it is held. */
  readonly message: string;
  readonly ruleIds: readonly string[];
}

/** Where a request stands. `approved` is said once where the approval is for one call: it is then used. */
export interface ApprovalAnswer {
  /** Id of the request, by which people decide it. */
  readonly id: string;
  readonly state: 'approved' | 'rejected' | 'waiting';
  readonly decidedBy: string | null;
  readonly note: string | null;
  /** How far the approval goes. @defaultValue 'once' */
  readonly scope?: ApprovalScope | undefined;
}

/** A queue of approvals that outlive the process. The built-in one is `PostgresReviewQueue`. */
export interface ApprovalQueue {
  /** The database it is in, where the gate keeps what it counts too. */
  readonly connection?: PostgresConnection | undefined;
  /**
   * Takes the approval of a call, or asks for one. Asking again in a session while nobody has decided gives the same
   * request. Of any number of processes one takes an approval for one call.
   */
  takeApproval(request: ApprovalRequest): Promise<ApprovalAnswer>;
  /** Resolves when the request is decided or has expired; rejects after this time. */
  waitFor(id: string, options: { readonly timeoutMs: number }): Promise<unknown>;
}

/** How long an approval can be used, in milliseconds, where the policy does not say. */
export const APPROVAL_MS = 300_000;

/** SHA-256 of what an approval covers, hex. */
export function computeFingerprint(binding: ApprovalBinding): string {
  return fingerprint(binding).toString('hex');
}

/** SHA-256 of whose calls of which tool it is about, whatever its definition, hex. */
export function toSubject({ caller, server, tool }: ApprovalBinding): string {
  return createHash('sha256')
    .update(JSON.stringify([caller, server, tool]))
    .digest('hex');
}

interface Approval {
  readonly fingerprint: Buffer;
  readonly expires: Expiry;
}

/** When something is over, by both clocks: that of the wall can be set back, the other stands still in a machine that sleeps. */
interface Expiry {
  readonly wall: number;
  readonly steady: number;
}

function expiryIn(ms: number): Expiry {
  return { wall: Date.now() + ms, steady: performance.now() + ms };
}

function isOver({ wall, steady }: Expiry): boolean {
  return Date.now() >= wall || performance.now() >= steady;
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
  grant(binding: ApprovalBinding, expiresMs = APPROVAL_MS): string {
    const token = randomBytes(24).toString('base64url');
    if (this.#waiting.size >= MAX_WAITING) {
      const oldest = this.#waiting.keys().next();
      if (oldest.done !== true) this.#waiting.delete(oldest.value);
    }
    this.#waiting.set(token, { fingerprint: fingerprint(binding), expires: expiryIn(expiresMs) });
    return token;
  }

  /** Spends an approval. True only once, before it expires, and for exactly the call it was granted for. */
  redeem(token: string, binding: ApprovalBinding): boolean {
    const approval = this.#waiting.get(token);
    if (approval === undefined) return false;
    // Spent on a mismatch too: a token tried on another call is in the wrong hands.
    this.#waiting.delete(token);
    return !isOver(approval.expires) && timingSafeEqual(approval.fingerprint, fingerprint(binding));
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
