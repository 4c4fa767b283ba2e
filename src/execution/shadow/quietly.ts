import { diag } from '@opentelemetry/api';

/** Does work of ours that must not reach the host when it fails. @returns whether it went well. */
export function quietly(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    diag.error('mcp-observatory: a shadow run met a fault', nameOf(error));
    return false;
  }
}

/** The name alone: the message may quote content. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
