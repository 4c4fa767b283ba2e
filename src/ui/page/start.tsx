import type { SenderSettings } from '../server/index.ts';
import { useData } from './data.ts';
import { CopyLines } from './parts.tsx';

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT=';

/** Where no receiver runs beside the page. */
const USUAL: readonly SenderSettings[] = [
  {
    name: 'Node program',
    lines: [`${ENDPOINT}http://127.0.0.1:4318 node --import mcp-observatory/register app.js`],
  },
  { name: 'other SDKs', lines: [`${ENDPOINT}http://127.0.0.1:4318`] },
];

/** What to do while there is nothing to show. */
export function Start() {
  const { data } = useData<{ senders: readonly SenderSettings[] }>('/api/senders', 'once');
  if (data === undefined) return null;
  const isReceiver = data.senders.length > 0;
  const senders = isReceiver ? data.senders : USUAL;
  const endpoint = senders.flatMap(({ lines }) => lines).find((line) => line.startsWith(ENDPOINT)) ?? '';
  const demo: SenderSettings = {
    name: 'The demo, which needs no key',
    lines: [`${endpoint.split(' ', 1)[0]} npx mcp-observatory demo`],
  };
  const past: SenderSettings = {
    name: 'The last 30 days of Claude Code, Codex and Gemini CLI, from their transcripts: in place of this up',
    lines: ['npx mcp-observatory up --import'],
  };
  return (
    <div class="start">
      <h2>Nothing has arrived in this range</h2>
      <p class="dim">
        {isReceiver ? (
          'Listening: runs appear here within two seconds of their spans. Point a program here:'
        ) : (
          <>
            <code>mcp-observatory up</code> or <code>collect</code> takes spans on port 4318 (OTLP over HTTP)
            and 4317 (gRPC). Runs appear here within two seconds of their spans.
          </>
        )}
      </p>
      {[demo, ...senders, ...(isReceiver ? [past] : [])].map(({ name, where, lines }) => (
        <section key={name}>
          <h3>
            {name}
            {where !== undefined && `, in ${where}`}
          </h3>
          <CopyLines text={lines.join('\n')} label={`Copy the lines for: ${name}`} />
        </section>
      ))}
    </div>
  );
}
