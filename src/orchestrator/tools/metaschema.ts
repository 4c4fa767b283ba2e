import type { Ajv } from 'ajv';
import { createPlainAjv } from '../../json/index.ts';
import { type Schema, Unconvertible } from './json-schema.ts';

let validator: Ajv | undefined;

/**
 * The last look before a schema is offered: providers check the whole request against JSON Schema 2020-12.
 *
 * @throws Unconvertible with the first place that breaks it.
 */
export function assertJsonSchema(schema: Schema): void {
  validator ??= createPlainAjv('2020-12', { strict: false, logger: false });
  if (validator.validateSchema(schema) === true) return;
  const [error] = validator.errors ?? [];
  throw new Unconvertible(`its schema is not valid JSON Schema: ${error?.instancePath} ${error?.message}`);
}
