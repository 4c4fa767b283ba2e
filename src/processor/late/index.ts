/**
 * Runs after a span has ended and before it is exported, in a pipeline of our own. It may import the files of
 * `processor`, which do not import it.
 */
export { DeferredEnrichment } from './deferred-enrichment.ts';
