import { diag } from '@opentelemetry/api';

/** Runs internal work whose failure must not reach the host. @returns whether it succeeded. */
export function quietly(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    diag.error('mcp-observatory: a shadow run met a fault', nameOf(error));
    return false;
  }
}

/** Only the name, as the message may quote content. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
