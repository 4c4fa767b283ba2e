import { diag } from '@opentelemetry/api';

/** Reasons for rejecting a request; {@link ANSWERS} maps them to HTTP and gRPC. */
export type RejectionReason = keyof typeof ANSWERS;

/**
 * The answers of the OTLP specification. Senders retry after HTTP 429 and 503 and gRPC 14, and drop the data after all
 * others; 429 and 503 carry a delay.
 */
export const ANSWERS = {
  malformed: { http: 400, grpc: 3 },
  foreign_page: { http: 403, grpc: 7 },
  unauthenticated: { http: 401, grpc: 16 },
  not_found: { http: 404, grpc: 12 },
  wrong_method: { http: 405, grpc: 12 },
  too_large: { http: 413, grpc: 8 },
  unsupported_type: { http: 415, grpc: 3 },
  unsupported_encoding: { http: 415, grpc: 12 },
  overloaded: { http: 429, grpc: 14 },
  too_slow: { http: 503, grpc: 14 },
  unavailable: { http: 503, grpc: 14 },
  fault: { http: 500, grpc: 13 },
} as const;

/** A rejected request. Its message goes to the sender, so it must not reveal data or the database. */
export class Rejection extends Error {
  readonly reason: RejectionReason;
  /** Seconds until a retry; `undefined` when retrying is useless. */
  readonly retryAfter: number | undefined;

  constructor(reason: RejectionReason, message: string, retryAfter?: number) {
    super(message);
    this.name = 'Rejection';
    this.reason = reason;
    this.retryAfter = retryAfter;
  }
}

/** Maps an error to a rejection. Unexpected errors become internal errors without details. */
export function toRejection(error: unknown): Rejection {
  if (error instanceof Rejection) return error;
  const frames =
    error instanceof Error ? error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const name = error instanceof Error ? error.name : typeof error;
  diag.error(`mcp-observatory: a request failed with ${name}${(frames ?? []).slice(0, 5).join('')}`);
  return new Rejection('fault', 'The collector failed on this request');
}
