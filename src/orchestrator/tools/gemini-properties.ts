import { isObject, objectOf } from '../../json/index.ts';
import { type AnySchema, type Schema, setKey } from './json-schema.ts';
import type { Relax } from './relaxed.ts';

/** Says what may stand under names that `properties` does not list. */
export function writeOtherProperties(
  out: Schema,
  schema: Schema,
  path: string,
  convert: (schema: AnySchema, path: string) => AnySchema,
  relax: Relax,
): void {
  const additional = schema.additionalProperties as AnySchema | undefined;
  const patterns = schema.patternProperties;
  const unevaluated = schema.unevaluatedProperties;
  if (unevaluated !== undefined && unevaluated !== true) {
    // Where nothing but `properties` evaluates any, it means the same as `additionalProperties`.
    const plain = !['anyOf', 'oneOf', 'if', 'dependentSchemas', 'patternProperties'].some(
      (keyword) => schema[keyword] !== undefined,
    );
    if (unevaluated === false && plain) out.additionalProperties = false;
    else relax(path, 'unevaluatedProperties');
  }
  if (isObject(patterns)) {
    relax(path, 'patternProperties');
    // The names cannot be said, so what stands under any of them is allowed under all.
    const options = [...Object.values(patterns), ...(isObject(additional) ? [additional] : [])];
    if (additional === false || isObject(additional)) {
      const converted = options
        .map((each) => convert(each as AnySchema, `${path}/additionalProperties`))
        .filter((each) => each !== false);
      out.additionalProperties = converted.length > 1 ? { anyOf: converted } : (converted[0] ?? false);
    }
    return;
  }
  if (typeof additional === 'boolean') out.additionalProperties = additional;
  else if (additional !== undefined)
    out.additionalProperties = convert(additional, `${path}/additionalProperties`);
}

/** Gemini wants every required name among the properties. */
export function nameRequired(out: Schema, required: readonly string[]): void {
  const properties = (out.properties ?? {}) as Schema;
  const others = out.additionalProperties;
  for (const name of required) {
    if (!Object.hasOwn(properties, name)) setKey(properties, name, objectOf(others));
  }
  out.properties = properties;
  out.required = required;
}
