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

/** Variables such as `OTEL_EXPORTER_OTLP_HEADERS` carry API keys of a telemetry back end. */
const OTEL_CREDENTIAL = /_HEADERS$|_CLIENT_KEY$|_PASSWORD$|_TOKEN$|_SECRET$|_API_KEY$/;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a spawned server: a short allow-list of the host's variables, the host's `OTEL_*` settings except
 * those that carry credentials, `TRACEPARENT` and `TRACESTATE` of the active span, then the `env` of the server's config.
 * No other variable is passed on, so the host's secrets stay private. A server that exports telemetry itself needs its
 * credentials in `env`.
 *
 * Variables of trace context: https://opentelemetry.io/docs/specs/otel/context/env-carriers/
 */
export function serverEnvironment(
  configured: Environment,
  host: Environment = process.env,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of INHERITED) copy(name);
  for (const name of Object.keys(host)) {
    if (name.startsWith('OTEL_') && !OTEL_CREDENTIAL.test(name)) copy(name);
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
    const value = host[name];
    // An exported bash function ("() { ...") is code, not a setting.
    if (value !== undefined && !value.startsWith('()')) env[name] = value;
  }
}
