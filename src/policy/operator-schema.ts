import { type CompiledSchema, compileSchema, SchemaRefusedError } from '../json/index.ts';

/**
 * Compiles a schema an operator wrote. Unknown keywords such as `maxLenght` are refused, and there are two more for
 * addresses. `emailDomainIn: ["example.com"]` takes one address of exactly these domains; `urlHostIn` a http(s) URL of
 * exactly these hosts. Both take only strings; a hand-written regular expression such as `[^example.com$]` gets this
 * wrong.
 * @throws SchemaRefusedError
 */
export function compileOperatorSchema(schema: object | boolean): CompiledSchema {
  return compileSchema(schema, { strictWith: { emailDomainIn, urlHostIn } });
}

function emailDomainIn(given: unknown): (value: unknown) => boolean {
  const domains = new Set(textsOf(given, 'emailDomainIn').map((domain) => domain.toLowerCase()));
  return (value) => {
    if (typeof value !== 'string' || value.length > MAX_EMAIL_CHARS) return false;
    const match = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9.-]{1,255})$/.exec(value);
    return match !== null && domains.has((match[1] as string).toLowerCase());
  };
}

const MAX_EMAIL_CHARS = 320;

/** Labels of letters, digits and hyphens (RFC 1123), and a port where the rule names one. */
const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[1-9][0-9]{0,4})?$/;
const MAX_HOST_CHARS = 259;

/**
 * What curl, Python's urllib and the WHATWG parser read alike: a lower-case scheme, `//`, no user, a plain host, and
 * after it only the characters of RFC 3986. Their readings differ for backslashes, tabs, full-width letters, missing
 * slashes and `@`, so that one checks a host and another connects elsewhere.
 */
const PLAIN_URL =
  /^(https?):\/\/([a-z0-9.:-]{1,259})(?:[/?#](?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' };
const MAX_URL_CHARS = 8_192;

function urlHostIn(given: unknown): (value: unknown) => boolean {
  const hosts = new Set(textsOf(given, 'urlHostIn'));
  for (const host of hosts) {
    if (host.length > MAX_HOST_CHARS || !HOST.test(host)) {
      throw new SchemaRefusedError(
        `'urlHostIn' takes lower-case ASCII hosts such as "example.com" or "example.com:8443", not ${JSON.stringify(host.slice(0, 80))}`,
      );
    }
  }
  return (value) => {
    if (typeof value !== 'string' || value.length > MAX_URL_CHARS) return false;
    const [, scheme = '', host = ''] = PLAIN_URL.exec(value) ?? [];
    const port = DEFAULT_PORTS[scheme] ?? '';
    const bare = host.endsWith(port) ? host.slice(0, -port.length) : host;
    return scheme !== '' && (hosts.has(host) || hosts.has(bare) || hosts.has(bare + port));
  };
}

function textsOf(given: unknown, keyword: string): readonly string[] {
  const isList = Array.isArray(given) && given.length > 0;
  if (!isList || !given.every((item) => typeof item === 'string' && item !== '')) {
    throw new SchemaRefusedError(`'${keyword}' takes a list of at least one text`);
  }
  return given as readonly string[];
}
