import type { RequestAdmission } from './admission.ts';
import type { BearerCheck } from './bearer.ts';
import type { Intake } from './intake.ts';
import { Rejection } from './rejection.ts';

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
  /** Maximum bytes of a body, compressed and decompressed. */
  readonly maxBodyBytes: number;
  /** Whether the collector is draining and refuses new requests. */
  readonly isDraining: () => boolean;
  readonly onAnswered: (answered: Answered) => void;
}

/** @throws Rejection `unavailable` while draining, so that the sender tries another replica. */
export function refuseWhileDraining(gateway: Gateway): void {
  if (gateway.isDraining()) throw new Rejection('unavailable', 'The collector is shutting down', 1);
}
