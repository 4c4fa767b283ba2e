import type { Writable } from 'node:stream';
import type { RequestAdmission } from './admission.ts';
import type { BearerCheck } from './bearer.ts';
import type { Intake } from './intake.ts';
import { Rejection, toRejection } from './rejection.ts';

/** The answer to a request, for the metrics. */
export interface Answered {
  readonly transport: 'http' | 'grpc';
  /** `ok`, or the reason of the rejection. */
  readonly outcome: string;
  readonly seconds: number;
}

/** State shared by both transports. */
export interface Gateway {
  readonly intake: Intake;
  readonly admission: RequestAdmission;
  readonly bearer: BearerCheck;
  /** Whether senders need a token or a certificate. */
  readonly isClosed: boolean;
  /** Origins of web pages that may send, as browsers write them; `*` for all. */
  readonly origins: ReadonlySet<string>;
  /** Maximum bytes of a body, compressed and decompressed. */
  readonly maxBodyBytes: number;
  /** Whether the collector is draining and refuses new requests. */
  readonly isDraining: () => boolean;
  readonly onAnswered: (answered: Answered) => void;
}

/** Answers a request: with what `work` gives, or by `reject`; and tells the metrics. */
export async function answer(
  gateway: Gateway,
  transport: Answered['transport'],
  work: () => Promise<void>,
  reject: (rejection: Rejection) => void,
): Promise<void> {
  const startedAt = performance.now();
  let outcome = 'ok';
  try {
    await work();
  } catch (error) {
    const rejection = toRejection(error);
    outcome = rejection.reason;
    reject(rejection);
  }
  gateway.onAnswered({ transport, outcome, seconds: (performance.now() - startedAt) / 1000 });
}

/** Aborted when the connection to the sender is closed. */
export function untilClosed(stream: Writable): AbortSignal {
  const closed = new AbortController();
  if (stream.destroyed) closed.abort();
  else stream.once('close', () => closed.abort());
  return closed.signal;
}

/** @throws Rejection `unavailable` while draining, so that the sender tries another replica. */
export function refuseWhileDraining(gateway: Gateway): void {
  if (gateway.isDraining()) throw new Rejection('unavailable', 'The collector is shutting down', 1);
}
