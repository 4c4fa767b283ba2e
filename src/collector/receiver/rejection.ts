import { diag } from '@opentelemetry/api';

/** Why a request is not taken. What each means in HTTP and gRPC, {@link ANSWERS} says. */
export type RejectionReason = keyof typeof ANSWERS;

/**
 * The answers of the OTLP specification. Senders try again after HTTP 429 and 503 and after gRPC 14, and give the data
 * up after all others; 429 and 503 name a time to wait.
 */
export const ANSWERS = {
  malformed: { http: 400, grpc: 3 },
  unauthenticated: { http: 401, grpc: 16 },
  not_found: { http: 404, grpc: 12 },
  wrong_method: { http: 405, grpc: 12 },
  too_large: { http: 413, grpc: 8 },
  unsupported_type: { http: 415, grpc: 3 },
  unsupported_encoding: { http: 415, grpc: 12 },
  overloaded: { http: 429, grpc: 14 },
  unavailable: { http: 503, grpc: 14 },
  fault: { http: 500, grpc: 13 },
} as const;

/** A request that is not taken; its message goes to the sender, so it says nothing of the data or the database. */
export class Rejection extends Error {
  readonly reason: RejectionReason;
  /** Seconds after which the sender may try again; `undefined` when that is of no use. */
  readonly retryAfter: number | undefined;

  constructor(reason: RejectionReason, message: string, retryAfter?: number) {
    super(message);
    this.name = 'Rejection';
    this.reason = reason;
    this.retryAfter = retryAfter;
  }
}

/** The rejection that an error stands for; one that nobody foresaw is a fault of ours, and told without its data. */
export function rejectionOf(error: unknown): Rejection {
  if (error instanceof Rejection) return error;
  const frames =
    error instanceof Error ? error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const name = error instanceof Error ? error.name : typeof error;
  diag.error(`mcp-observatory: a request failed with ${name}${(frames ?? []).slice(0, 5).join('')}`);
  return new Rejection('fault', 'The collector failed on this request');
}
