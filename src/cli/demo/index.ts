export { arePackagesMissing, runWithPackages } from './packages.ts';
export { runDemo } from './run-demo.ts';
