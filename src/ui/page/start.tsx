import { CopyButton } from './parts.tsx';

const LINES: readonly (readonly [string, string])[] = [
  [
    'Your app',
    'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 node --import mcp-observatory/register app.js',
  ],
  ['Any OpenTelemetry SDK', 'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318'],
  ['The demo', 'npx mcp-observatory demo'],
];

/** What to do while there is nothing to show. */
export function Start() {
  return (
    <div class="start">
      <h2>Nothing has arrived in this range</h2>
      <p class="dim">
        <code>mcp-observatory up</code> listens on port 4318 (OTLP over HTTP) and 4317 (gRPC). Runs appear
        here within two seconds of their spans.
      </p>
      {LINES.map(([title, line]) => (
        <section key={title}>
          <h3>{title}</h3>
          <pre class="code">
            {line} <CopyButton text={line} label={`Copy the line for: ${title}`} />
          </pre>
        </section>
      ))}
    </div>
  );
}
