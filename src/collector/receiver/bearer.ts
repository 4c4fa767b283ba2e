import { createHash, timingSafeEqual } from 'node:crypto';
import { Rejection } from './rejection.ts';

const BEARER = /^Bearer +([^ ]+) *$/i;

/** Knows the bearer tokens that senders may use; without any, everybody is let in. */
export class BearerCheck {
  readonly #digests: readonly Buffer[];

  /** @param tokens any of which will do, so that one can be replaced by another without a gap. */
  constructor(tokens: readonly string[]) {
    this.#digests = tokens.map(digest);
  }

  /**
   * @param header the value of `authorization`.
   * @throws Rejection `unauthenticated`.
   */
  check(header: string | undefined): void {
    if (this.#digests.length === 0) return;
    const given = digest(BEARER.exec(header ?? '')?.[1] ?? '');
    // Digests are of one length, and every one is compared, so that the time tells nothing of the tokens.
    let isKnown = false;
    for (const known of this.#digests) isKnown = timingSafeEqual(known, given) || isKnown;
    if (!isKnown)
      throw new Rejection('unauthenticated', 'Expected an authorization header with a bearer token');
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
