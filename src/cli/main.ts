#!/usr/bin/env node
// Imports nothing more until it knows the version.
import { importProblem, nodeProblem } from '../base/index.ts';

const problem = nodeProblem();
if (problem === undefined) {
  void import('./run-cli.ts').then(
    ({ runProgram }) => runProgram(),
    (error: unknown) => tell(importProblem(error)),
  );
} else tell(problem);

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 2;
}
