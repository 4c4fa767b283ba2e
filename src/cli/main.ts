#!/usr/bin/env node
// Imports are resolved before a module runs, and older versions of Node lack names that ours use. So this file imports
// nothing until it knows the version.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`mcp-observatory needs Node 20.19 or newer; this is Node ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  void import('./program.ts').then(({ runProgram }) => runProgram());
}
