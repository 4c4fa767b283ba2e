import { context, isSpanContextValid, trace } from '@opentelemetry/api';

/** What a program needs to run. The MCP SDKs pass the first six; the rest are locale, time zone and temp folder. */
const INHERITED =
  process.platform === 'win32'
    ? [
        'APPDATA',
        'COMSPEC',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROCESSOR_ARCHITECTURE',
        'PROGRAMFILES',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'TMP',
        'USERNAME',
        'USERPROFILE',
      ]
    : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];

/** How programs reach the network and whom they trust there: without these, `npx` and `uvx` fetch nothing behind a proxy. */
const NETWORK: ReadonlySet<string> = new Set([
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  // https://nodejs.org/api/cli.html#environment-variables
  'NODE_USE_ENV_PROXY',
  'NODE_USE_SYSTEM_CA',
  // https://docs.npmjs.com/cli/using-npm/config#environment-variables, in either case
  ...['REGISTRY', 'PROXY', 'HTTPS_PROXY', 'NOPROXY', 'CA', 'CAFILE', 'STRICT_SSL'].map(
    (name) => `NPM_CONFIG_${name}`,
  ),
]);

/** Where certificates of authorities lie, as OpenSSL, Node, Python, curl, git, Deno, Cargo and AWS name it. */
const AUTHORITIES = /(?:^|_)(?:CA_?(?:BUNDLE|CERTS?|FILE|INFO|PATH)|SSL_CERT_(?:FILE|DIR)|DENO_CERT)$/;

/** Settings of pip and uv: indexes, mirrors, certificates. */
const INSTALLER = /^(?:PIP|UV)_/;
const INSTALLER_CREDENTIAL = /PASSWORD|TOKEN|SECRET|USERNAME|API_?KEY|PUBLISH|KEYRING/;

/** Variables such as `OTEL_EXPORTER_OTLP_HEADERS` carry API keys of a telemetry back end. */
const OTEL_CREDENTIAL = /_HEADERS$|_CLIENT_KEY$|_PASSWORD$|_TOKEN$|_SECRET$|_API_KEY$/;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a spawned server: a short allow-list of the host's variables, its proxies, certificates and package
 * registries, the host's `OTEL_*` settings except those that carry credentials, `TRACEPARENT` and `TRACESTATE` of the active span, then the `env` of the server's config.
 * No other variable is passed on, so the host's secrets stay private. A server that exports telemetry itself needs its
 * credentials in `env`.
 *
 * Variables of trace context: https://opentelemetry.io/docs/specs/otel/context/env-carriers/
 */
export function serverEnvironment(configured: Environment): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of INHERITED) copy(name);
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('OTEL_') && !OTEL_CREDENTIAL.test(name)) copy(name);
    const upper = name.toUpperCase().replaceAll('-', '_');
    if (NETWORK.has(upper) || AUTHORITIES.test(upper)) copy(name);
    if (INSTALLER.test(name) && !INSTALLER_CREDENTIAL.test(name)) copy(name);
  }
  const span = trace.getSpanContext(context.active());
  if (span !== undefined && isSpanContextValid(span)) {
    env.TRACEPARENT = `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`;
    const state = span.traceState?.serialize();
    if (state) env.TRACESTATE = state;
  } else {
    copy('TRACEPARENT');
    copy('TRACESTATE');
  }
  for (const [name, value] of Object.entries(configured)) if (value !== undefined) env[name] = value;
  return env;

  function copy(name: string): void {
    const value = process.env[name];
    // An exported bash function ("() { ...") is code, not a setting.
    if (value !== undefined && !value.startsWith('()')) env[name] = value;
  }
}
