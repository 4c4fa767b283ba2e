import type { RequestAdmission } from './admission.ts';
import type { BearerCheck } from './bearer.ts';
import type { Intake } from './intake.ts';
import { Rejection } from './rejection.ts';

/** How a request was answered, for the metrics. */
export interface Answered {
  readonly transport: 'http' | 'grpc';
  /** `ok`, or the reason of the rejection. */
  readonly outcome: string;
  readonly seconds: number;
}

/** What both transports share. */
export interface Gateway {
  readonly intake: Intake;
  readonly admission: RequestAdmission;
  readonly bearer: BearerCheck;
  /** Bytes of a body, packed and unpacked. */
  readonly maxBodyBytes: number;
  /** Whether the collector is on its way out and takes no new requests. */
  readonly isDraining: () => boolean;
  readonly onAnswered: (answered: Answered) => void;
}

/** @throws Rejection `unavailable` while draining: the sender finds another replica, or this one when it is back. */
export function refuseWhileDraining(gateway: Gateway): void {
  if (gateway.isDraining()) throw new Rejection('unavailable', 'The collector is shutting down', 1);
}
