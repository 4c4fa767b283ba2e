/**
 * JSON from outside: strict and bounded parsing, canonical form, JSON Schema, linear patterns and redaction. It may
 * import `base`.
 */
export { type BoundedCopy, beginningOfJson, boundedCopy, boundedJson } from './bounded-json.ts';
export {
  type CanonicalJsonOptions,
  canonicalHash,
  canonicalJson,
  hashableText,
  isWellFormed,
  sha256Hex,
  toWellFormed,
  toWellFormedValue,
} from './canonical-json.ts';
export { ABSENT, type Difference, differencesBetween, type Tolerance } from './difference.ts';
export { isExactInteger, parseExactJson, pointed, withIntegers, writeIntegers } from './exact-integers.ts';
export { KeptValues } from './kept-value.ts';
export {
  addUp,
  endOfJsonString,
  firstText,
  isObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  parseContainer,
  parseContainerOrKeep,
  parseOrKeep,
  readList,
  readObject,
  stringAt,
  stringsAt,
  toCount,
  toJsonText,
  toText,
} from './lenient-json.ts';
export { compileLinear } from './linear-regexp.ts';
export { nameKind, redactLargeValue, redactText, redactValue } from './redact/index.ts';
export {
  type CompiledSchema,
  type CompileOptions,
  compileSchema,
  compileStats,
  compileSteps,
  impliedTypes,
  isSmall,
  METASCHEMA,
  parseBoundedContainer,
  payForParse,
  payForWalk,
  type SchemaReading,
  SchemaRefusedError,
  type SchemaVerdict,
  StepBudget,
  StepsExceededError,
} from './schema/index.ts';
export {
  checkJsonValue,
  FILE_LIMITS,
  type JsonLimits,
  PLAN_LIMITS,
  parseStrictJson,
  StrictJsonError,
} from './strict-json.ts';
export { ValueCounter } from './value-counter.ts';
