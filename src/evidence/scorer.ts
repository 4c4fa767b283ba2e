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
 * Holds an answer against the trace and its documents. `undefined` without evidence.
 * @throws Error as {@link loadScorer} does.
 */
export function scoreEvidence(input: EvidenceInput): EvidenceScores | undefined {
  return loadScorer().scoreAnswer(input);
}
