import { createHash, timingSafeEqual } from 'node:crypto';
import { Rejection } from './rejection.ts';

const BEARER = /^Bearer +([^ ]+) *$/i;

/** Checks bearer tokens; without any configured, all requests pass. */
export class BearerCheck {
  readonly #digests: readonly Buffer[];

  /** @param tokens all accepted, so that tokens can be rotated without a gap. */
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
    // Digests have equal length and all are compared, so that timing reveals nothing about the tokens.
    let isKnown = false;
    for (const known of this.#digests) isKnown = timingSafeEqual(known, given) || isKnown;
    if (!isKnown)
      throw new Rejection('unauthenticated', 'Expected an authorization header with a bearer token');
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
