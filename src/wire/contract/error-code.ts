import type { ErrorReport } from './types.ts';

/** Codes, not sentences: a message may quote the prompt or a key. */
const CODE = /^[A-Za-z][\w.:-]{0,63}$/;

/** The first of the candidates that looks like a code. */
export function firstCode(...candidates: readonly unknown[]): string | undefined {
  for (const candidate of candidates) {
    if (typeof candidate === 'string' && CODE.test(candidate)) return candidate;
  }
  return undefined;
}

/** One word for an error: the provider's own, else its HTTP status. */
export function errorWord({ code, status }: ErrorReport): string {
  return code ?? status?.toString() ?? 'error';
}
