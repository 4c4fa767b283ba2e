export { createPlainAjv, createStrictAjv } from './ajv.ts';
export {
  type CanonicalJsonOptions,
  canonicalHash,
  canonicalJson,
  isWellFormed,
  sha256Hex,
} from './canonical-json.ts';
export {
  countOf,
  firstText,
  isObject,
  type JsonObject,
  listAt,
  listOf,
  numberAt,
  objectAt,
  objectOf,
  parseContainer,
  parseContainerOrKeep,
  parseOrKeep,
  stringAt,
  stringsAt,
  sumOf,
  textOf,
  toJsonText,
} from './lenient-json.ts';
export { compileLinear } from './linear-regexp.ts';
export { redactText, redactValue } from './redact.ts';
export { runCheck, SchemaRefusedError, type SchemaVerdict } from './schema-check.ts';
export { type CompiledSchema, type CompileOptions, compileSchema, compileStats } from './schema-compiler.ts';
export {
  checkJsonValue,
  FILE_LIMITS,
  type JsonLimits,
  PLAN_LIMITS,
  parseStrictJson,
  StrictJsonError,
} from './strict-json.ts';
