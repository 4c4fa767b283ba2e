import { createStrictAjv, runCheck, SchemaRefusedError, type SchemaVerdict } from '../json/index.ts';

/**
 * Compiles a schema an operator wrote: Ajv's strict mode, which catches `maxLenght`, and two keywords for addresses.
 * `emailDomainIn: ["example.com"]` takes one address of exactly these domains; `urlHostIn` a http(s) URL of exactly
 * these hosts. Both take only strings; a hand-written regular expression such as `[^example.com$]` gets this wrong.
 * @throws SchemaRefusedError
 */
export function compileOperatorSchema(schema: object): (value: unknown) => SchemaVerdict {
  const ajv = createStrictAjv();
  const list = { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 };
  for (const [keyword, isIn] of [
    ['emailDomainIn', isEmailIn],
    ['urlHostIn', isUrlIn],
  ] as const) {
    ajv.addKeyword({ keyword, schemaType: 'array', metaSchema: list, errors: false, validate: isIn });
  }
  try {
    const validate = ajv.compile(schema);
    return (value) => runCheck(validate, { left: 0 }, value);
  } catch (cause) {
    throw new SchemaRefusedError((cause as Error).message, { cause });
  }
}

function isEmailIn(domains: readonly string[], value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const match = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9.-]{1,255})$/.exec(value);
  const domain = match?.[1]?.toLowerCase();
  return domain !== undefined && domains.some((allowed) => allowed.toLowerCase() === domain);
}

function isUrlIn(hosts: readonly string[], value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const url = new URL(value);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && hosts.some((allowed) => allowed.toLowerCase() === url.hostname);
}
