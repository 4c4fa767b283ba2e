import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../base/index.ts';
import type { EvidenceInput, EvidenceScores } from './types.ts';

type Scorer = typeof import('./scores.ts');

/** A file of its own, CommonJS so that a span which ends can load it at once: most starts have no answer to score. */
const SCORER = 'dist/lib/evidence.cjs';

let scorer: Scorer | undefined;

/**
 * Loads what scores answers, unless it is loaded: about ten milliseconds.
 * @throws Error when the file is not beside the package, as in an application that a bundler has made one file of.
 */
export function loadScorer(): Scorer {
  scorer ??= createRequire(import.meta.url)(fileURLToPath(packageFile(SCORER))) as Scorer;
  return scorer;
}

/**
 * Loads the same as a module: in an application that a bundler has made one file of, it is part of that file. Rejects as an
 * import does.
 */
export async function importScorer(): Promise<void> {
  scorer ??= await import('./scores.ts');
}

/**
 * Holds an answer against the trace and its documents. `undefined` without evidence.
 * @throws Error as {@link loadScorer} does.
 */
export function scoreEvidence(input: EvidenceInput): EvidenceScores | undefined {
  return loadScorer().scoreAnswer(input);
}
