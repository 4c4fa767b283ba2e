export { parseBoundedContainer } from './bounded-parse.ts';
export {
  type CompiledSchema,
  compileSchema,
  compileStats,
  compileSteps,
  type SchemaVerdict,
} from './compile.ts';
export type { CompileOptions, CustomKeyword } from './compiler.ts';
export { impliedTypes, type SchemaReading } from './implied-types.ts';
export { METASCHEMA } from './metaschema.ts';
export { SchemaRefusedError } from './refused.ts';
export { isSmall, payForParse, payForWalk, StepBudget, StepsExceededError } from './steps.ts';
