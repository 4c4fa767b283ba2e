import { diag } from '@opentelemetry/api';

/** Kinds of faults that are logged separately. */
export type FaultKind = EnrichmentFault | 'template' | 'attribute limit' | 'old SDK';
export type EnrichmentFault = 'governance' | 'enrichment' | 'verifier' | 'redaction' | 'publishing';

/** Logs the first fault of each kind and counts the rest, so that a fault in every span does not fill the log. */
export class FaultLog {
  readonly #seen = new Set<FaultKind>();

  warnOnce(kind: FaultKind, message: string): void {
    if (this.#seen.has(kind)) return;
    this.#seen.add(kind);
    diag.warn(`mcp-observatory: ${message} (said once; later cases are only counted)`);
  }
}

/** The name of an error; its message may quote content. */
export function nameOfError(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
