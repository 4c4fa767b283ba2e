import { useState } from 'preact/hooks';
import { here, RANGE_NAMES, type Route, readRange, replaceRoute } from './route.ts';

const CUSTOM = 'custom';

/** Midnight so many days from today, in the zone of the reader. */
function midnight(days: number): number {
  const date = new Date();
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime();
}

const DAYS = [
  ['today', 'Today', 0],
  ['yesterday', 'Yesterday', -1],
] as const;

const HOUR_MS = 3_600_000;
const formatHour = (hours: number) =>
  new Date(hours * HOUR_MS).toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });

/** The range of a view whose figures are by the hour: whole hours. */
export function WholeHours({ route }: { route: Route }) {
  const { lastMs, sinceMs, untilMs } = readRange(route);
  const since = formatHour(Math.floor((sinceMs ?? Date.now() - lastMs) / HOUR_MS));
  if (untilMs === undefined) return <>since {since}</>;
  return (
    <>
      from {since} to {formatHour(Math.ceil(untilMs / HOUR_MS))}
    </>
  );
}

/** The range of time of a view: the last hours or days, a day, or from a time to another. */
export function RangeSelect({ route }: { route: Route }) {
  const { lastMs, sinceMs, untilMs } = readRange(route);
  const [isAsked, ask] = useState(false);
  const day = DAYS.find(([, , days]) => sinceMs === midnight(days) && untilMs === midnight(days + 1));
  const isFixed = sinceMs !== undefined;
  const value =
    isAsked || (isFixed && day === undefined) ? CUSTOM : (day?.[0] ?? route.query.get('range') ?? '24h');
  const set = (since: number | '', until: number | '', range = '') =>
    replaceRoute(here(route, { since, until, range, limit: '' }));
  const choose = (name: string) => {
    ask(name === CUSTOM);
    const chosen = DAYS.find(([one]) => one === name);
    if (chosen !== undefined) set(midnight(chosen[2]), midnight(chosen[2] + 1));
    else if (name !== CUSTOM) set('', '', name);
  };
  const [from, to] = [sinceMs ?? Date.now() - lastMs, untilMs ?? Date.now()];
  return (
    <div class="sel">
      <label>
        <span class="vh">Time range</span>
        <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
          {RANGE_NAMES.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
          {DAYS.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
          <option value={CUSTOM}>From, to</option>
        </select>
      </label>
      {value === CUSTOM && (
        <>
          <TimeField label="From" ms={from} onChange={(ms) => ms < to && set(ms, to)} />
          <span class="dim">to</span>
          <TimeField label="To" ms={to} onChange={(ms) => from < ms && set(from, ms)} />
        </>
      )}
    </div>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly ms: number;
  readonly onChange: (ms: number) => void;
}

function TimeField({ label, ms, onChange }: TimeFieldProps) {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <input
      type="datetime-local"
      aria-label={label}
      value={local}
      onChange={(event) => {
        const time = new Date(event.currentTarget.value).getTime();
        if (!Number.isNaN(time)) onChange(time);
      }}
    />
  );
}
