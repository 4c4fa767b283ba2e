#!/usr/bin/env node
// Imports nothing more until it knows the version.
import { nodeProblem } from '../base/index.ts';

const problem = nodeProblem();
if (problem === undefined) {
  void import('./run-cli.ts').then(({ runProgram }) => runProgram());
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}
