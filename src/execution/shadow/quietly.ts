import { diag } from '@opentelemetry/api';
import { errorClass } from '../../base/index.ts';

/** Runs internal work whose failure must not reach the host. @returns whether it succeeded. */
export function quietly(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    diag.error('mcp-observatory: a shadow run met a fault', faultName(error));
    return false;
  }
}

/** Only the class, as the message may quote content. */
export function faultName(error: unknown): string {
  return errorClass(error);
}
