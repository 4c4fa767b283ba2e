import { diag } from '@opentelemetry/api';

/** Kinds of trouble that are logged apart, so that one does not hide another. */
export type FaultKind =
  | 'governance'
  | 'enrichment'
  | 'verifier'
  | 'redaction'
  | 'publishing'
  | 'attribute limit'
  | 'old SDK';

/** Logs the first trouble of each kind and counts the rest: a fault that every span has must not fill the log. */
export class FaultLog {
  readonly #seen = new Set<FaultKind>();

  warnOnce(kind: FaultKind, message: string): void {
    if (this.#seen.has(kind)) return;
    this.#seen.add(kind);
    diag.warn(`mcp-observatory: ${message} (said once; later cases are only counted)`);
  }
}

/** Names an error without its message, which may quote the text that made it. */
export function nameOfError(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
