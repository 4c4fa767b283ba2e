import { findDefinitions, type RunSpan } from '../../runs/index.ts';
import { Count } from './parts.tsx';

/** Servers that are drawn apart. */
const MAX_SERVERS = 3;

/** What the input tokens of the run were: definitions of each server, and the rest. */
export function TaxBar({ spans }: { spans: readonly RunSpan[] }) {
  const found = findDefinitions(spans);
  if (found === undefined || found.promptTokens === 0) return null;
  const { promptTokens, cachedTokens, tokens, servers } = found;
  const all = Math.min(1, tokens / promptTokens);
  const shown = servers.slice(0, MAX_SERVERS);
  const left = servers.length === 0 ? 1 : 1 - shown.reduce((sum, { share }) => sum + share, 0);
  const parts = [
    ...shown.map(({ server, offered, used, share }, i) => ({
      name: server === '' ? 'tool definitions' : `definitions of ${server}`,
      note: `${offered} offered, ${used} used`,
      share: share * all,
      look: `q${i}`,
    })),
    {
      name: servers.length === 0 ? 'tool definitions' : 'other definitions',
      note: '',
      share: left * all,
      look: 'q3',
    },
    { name: 'conversation and results', note: '', share: 1 - all, look: 'q4' },
  ].filter(({ share }) => share > 0.0005);
  let x = 0;
  return (
    <div class="tax">
      <span class="th">
        Input tokens{' '}
        <b>
          <Count of={promptTokens} />
        </b>
        {cachedTokens > 0 && (
          <span class="sub">
            {' '}
            <Count of={cachedTokens} /> from cache
          </span>
        )}
      </span>
      <svg class="taxbar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(({ name, share, look }) => {
          const from = x;
          x += share * 1000;
          return (
            <rect key={name} x={from} y={0} width={Math.max(1, share * 1000 - 2)} height={8} class={look} />
          );
        })}
      </svg>
      <ul>
        {parts.map(({ name, note, share, look }) => (
          <li key={name}>
            <i class={`k ${look}`} /> {name} <b>{(100 * share).toFixed(1)} %</b>{' '}
            <span class="sub">{note}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
