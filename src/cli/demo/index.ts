export { type DemoOptions, runDemo } from './run-demo.ts';
