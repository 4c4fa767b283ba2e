#!/usr/bin/env node
// Imports nothing more until it knows the version.
import { importProblem, nodeProblem } from '../base/index.ts';

const problem = nodeProblem();
if (problem === undefined) {
  // The first is a file of its own in the package.
  const program =
    process.argv[2] === 'hook'
      ? import('./hook-program.js').then(({ runHookProgram }) => runHookProgram)
      : import('./run-cli.ts').then(({ runProgram }) => runProgram);
  void program.then(
    (run) => run(),
    (error: unknown) => tell(importProblem(error)),
  );
} else tell(problem);

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 2;
}
