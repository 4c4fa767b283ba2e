export { missingPackages, runWithPackages } from './packages.ts';
export { runDemo } from './run-demo.ts';
