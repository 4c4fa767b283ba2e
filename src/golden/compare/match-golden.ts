import { type GhostResult, toWire, type WireGhostResult } from '../../orchestrator/index.ts';
import { GoldenMismatchError, type GoldenOutput, readGolden, Scrubber, writeGolden } from '../file/index.ts';
import { type CompareOptions, compareWithGolden } from './compare.ts';

export interface MatchOptions extends CompareOptions {
  /** Make the result the golden's new one instead of comparing. @defaultValue the environment has UPDATE_GOLDENS=1 */
  readonly update?: boolean | undefined;
  /** Take a golden that is past its date. @defaultValue false */
  readonly allowExpired?: boolean | undefined;
}

/**
 * Holds a result against a golden, by meaning: the tools it called and with what, what failed and how it recovered, its
 * answer by the golden's own rule, and the golden's bounds on time and tokens. Works in any test runner, since all it
 * does is to throw.
 *
 * @param result of `mcpGhost`, or its wire form; for goldens of other runners their output.
 * @throws GoldenMismatchError that names each place that differs; what `readGolden` throws.
 */
export async function toMatchGolden(
  result: GhostResult | WireGhostResult | GoldenOutput,
  path: string,
  options: MatchOptions = {},
): Promise<void> {
  const update = options.update ?? process.env.UPDATE_GOLDENS === '1';
  const golden = await readGolden(path, { allowExpired: options.allowExpired === true || update });
  const output = outputOf(result);
  if (update) {
    await writeGolden(path, { ...golden, golden_output: output });
    return;
  }
  const findings = compareWithGolden(golden, output, options);
  if (findings.length === 0) return;
  throw new GoldenMismatchError(
    `The result is not that of the golden ${path} (UPDATE_GOLDENS=1 takes it):`,
    findings,
  );
}

/** A result in the form goldens keep it in: wire names, no secrets. */
export function outputOf(result: GhostResult | WireGhostResult | GoldenOutput): GoldenOutput {
  const wire = 'toolChain' in result ? toWire(result as GhostResult) : result;
  return new Scrubber().clean({ ...wire });
}
