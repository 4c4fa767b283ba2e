export { parseBoundedContainer } from './bounded-parse.ts';
export {
  type CompiledSchema,
  type CompileOptions,
  type CustomKeyword,
  compileSchema,
  compileStats,
  compileSteps,
  type SchemaVerdict,
} from './compile.ts';
export { impliedTypes, type SchemaReading } from './implied-types.ts';
export { METASCHEMA } from './metaschema.ts';
export { SchemaRefusedError } from './refused.ts';
export { payForParse, payForWalk, StepBudget, StepsExceededError } from './steps.ts';
