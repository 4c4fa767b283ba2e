import { diag } from '@opentelemetry/api';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether `OTEL_TRACES_EXPORTER` selects OTLP: `otlp` or `none`. The default is `otlp`, except with a database and no
 * endpoint. Other exporters are not supported; `console` would write to stdout, which belongs to the application.
 * @param isBeside whether the application has an SDK of its own, which may support others.
 */
export function wantsOtlp(environment: Environment, isBeside = false): boolean {
  const names = (environment.OTEL_TRACES_EXPORTER ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  for (const name of names) {
    if (!isBeside && name !== 'otlp' && name !== 'none') {
      diag.warn(`mcp-observatory: OTEL_TRACES_EXPORTER=${name} is not supported here; use otlp or none`);
    }
  }
  if (names.length > 0) return names.includes('otlp');
  const endpoint = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  return (endpoint ?? '') !== '' || (environment.MCP_OBSERVATORY_DATABASE_URL ?? '') === '';
}
