import { createRequire } from 'node:module';
import * as imported from '@opentelemetry/api';

/** The parts of the API that hold what is registered. */
export type Api = Pick<typeof imported, 'trace' | 'context' | 'propagation' | 'metrics'>;

/**
 * The API as it is imported and, where that is another, as it is required: from 1.10 on these are two modules. They
 * share the providers that are registered, not the functions that register them, and an application may use either.
 */
export function apiInstances(): readonly Api[] {
  const required = createRequire(import.meta.url)('@opentelemetry/api') as typeof imported;
  return required.trace === imported.trace ? [imported] : [imported, required];
}
