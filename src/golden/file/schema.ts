import { readFileSync } from 'node:fs';
import { compileSchema } from '../../json/index.ts';

const SCHEMA = new URL('../../../../schema/golden.schema.json', import.meta.url);

/** What keeps a value from being a golden, or nothing. */
export function schemaProblem(value: unknown): string | undefined {
  // Compiled once: the compiler keeps what it has compiled.
  const verdict = compileSchema(JSON.parse(readFileSync(SCHEMA, 'utf8'))).check(value);
  return verdict.valid ? undefined : verdict.message;
}
