export { createStrictAjv } from './ajv.ts';
export {
  type CanonicalJsonOptions,
  canonicalHash,
  canonicalJson,
  isWellFormed,
  sha256Hex,
} from './canonical-json.ts';
export { compileLinear } from './linear-regexp.ts';
export { redactText, redactValue } from './redact.ts';
export { runCheck, SchemaRefusedError, type SchemaVerdict } from './schema-check.ts';
export { type CompiledSchema, compileSchema, compileStats } from './schema-compiler.ts';
export {
  checkJsonValue,
  FILE_LIMITS,
  type JsonLimits,
  PLAN_LIMITS,
  parseStrictJson,
  StrictJsonError,
} from './strict-json.ts';
