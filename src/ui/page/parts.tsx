import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, formatDuration, formatUsd, type RunStatus } from '../../runs/index.ts';

/** Paths of the icons, on a grid of 16 pixels. */
const PATHS = {
  ok: 'M3 8.5l3.2 3L13 4.5',
  failed: 'M5.5 1.8h5l3.7 3.7v5l-3.7 3.7h-5l-3.7-3.7v-5zM6 6l4 4m0-4l-4 4',
  denied: 'M8 2a6 6 0 100 12A6 6 0 008 2zM3.8 3.8l8.4 8.4',
  withheld: 'M2.5 9v4.500h11V9M8 2.500v5M5 5.500L8 8.500l3-3M2.500 2h11',
  running: 'M13.500 8A5.500 5.500 0 118 2.500',
  held: 'M8 2a6 6 0 100 12A6 6 0 008 2zM8 5v3.2l2 1.4',
  incomplete: 'M8 2a6 6 0 016 6M8 14a6 6 0 01-6-6M8 5v3.500M8 11v.2',
  recovered: 'M2.500 8a5.500 5.500 0 109-4.200M11.500 1.500v2.600H9',
  changed: 'M3 4.5h6a3.5 3.5 0 010 7H5M7.5 9L5 11.5 7.5 14',
  contradicted: 'M3 6h10M3 10h10M10.5 3l-5 10',
  unsupported: 'M5.5 6a2.5 2.5 0 114 2c-1 .7-1.5 1.1-1.5 2.2M8 12.6v.2',
  runs: 'M2 4h12M2 8h8M2 12h10',
  tools:
    'M10.5 2.2a3.5 3.5 0 00-3.4 4.5L2.5 11.3a1.5 1.5 0 002.2 2.2l4.6-4.6a3.5 3.5 0 004.4-4.4L11.5 6.5l-2-2z',
  cost: 'M2.5 13.5V8M6.2 13.5v-9M9.8 13.5V7M13.5 13.5v-11',
  waiting: 'M8 2a6 6 0 100 12A6 6 0 008 2zM8 5v3.2l2 1.4',
  compare: 'M5 2v12M11 2v12M2 5l3-3 3 3M8 11l3 3 3-3',
  search: 'M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.3 10.3L14 14',
  sun: 'M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13.200 9.800A5.500 5.500 0 016.200 2.800a5.500 5.500 0 107 7z',
  pause: 'M5.5 3v10M10.5 3v10',
  close: 'M4 4l8 8M12 4l-8 8',
  model: 'M2.5 3.5h11v7H8l-3 2.8v-2.8H2.5z',
  tool: 'M3 4.5L6.5 8 3 11.5M8 12h5',
  agent: 'M8 2.5a2.5 2.5 0 100 5 2.5 2.5 0 000-5zM3 13.5c.5-2.8 2.4-4 5-4s4.500 1.200 5 4',
  step: 'M8 5.500a2.500 2.500 0 100 5 2.500 2.500 0 000-5z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.500v-3h-8v8h3',
  chevron: 'M6 3.500l4.500 4.500L6 12.500',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, class: other = `s-${name}` }: { name: IconName; class?: string }) {
  return (
    <svg class={`i ${other}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export type Status = RunStatus | 'changed' | 'contradicted' | 'unsupported';

/** A status as shape and word; the color only repeats it. */
export function Tag({ status, children }: { status: Status; children?: ComponentChildren }) {
  return (
    <span class={`tag t-${status}`}>
      <Icon name={status} />
      {children ?? status}
    </span>
  );
}

/** A figure with its unit set back. */
export function Unit({ text }: { text: string }) {
  const match = /^([<$]*)([\d.,]+)(.*)$/.exec(text);
  if (match === null) return <>{text}</>;
  return (
    <>
      {match[1] !== '' && <span class="u">{match[1]}</span>}
      {match[2]}
      {match[3] !== '' && <span class="u">{match[3]}</span>}
    </>
  );
}

export const Duration = ({ ms }: { ms: number }) => <Unit text={formatDuration(Math.max(0, ms))} />;
export const Count = ({ of }: { of: number }) => <Unit text={formatCount(of)} />;

/** US dollars; null is unpriced, never zero. */
export function Usd({ of }: { of: number | null }) {
  return of === null ? <span class="unp">unpriced</span> : <Unit text={formatUsd(of)} />;
}

const DAY_MS = 86_400_000;

/** A time that nobody counts the seconds of: `12 s`, `4 min`, `3 h`, `2 d`. */
export function roughly(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** Clocks that differ by more are said to. */
const MAX_AHEAD_MS = 60_000;

/** A time in the zone of the reader: of today, of this week or of a day. */
export function formatTime(ms: number): string {
  const date = new Date(ms);
  const clock = date.toLocaleTimeString('en-GB');
  if (date.toDateString() === new Date().toDateString()) return clock;
  const isThisWeek = Date.now() - ms < 6 * DAY_MS;
  const day = date.toLocaleDateString(
    'en-GB',
    isThisWeek ? { weekday: 'short' } : { day: 'numeric', month: 'short' },
  );
  return `${day} ${clock.slice(0, 5)}`;
}

/** A time, UTC on hover; of what is past and seems not to be, how far it is ahead. */
export function Time({ ms, isPast = false }: { ms: number; isPast?: boolean }) {
  const iso = new Date(ms).toISOString();
  const aheadMs = isPast ? ms - Date.now() : 0;
  const isAhead = aheadMs > MAX_AHEAD_MS;
  const utc = `${iso.replace('T', ' ').slice(0, 23)} UTC`;
  return (
    <time dateTime={iso} title={isAhead ? `${utc}: the clock of the sender is ahead` : utc}>
      {isAhead ? <span class="unp">in {roughly(aheadMs)}</span> : formatTime(ms)}
    </time>
  );
}

/** Why the server did not answer. */
export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** What to do when the server has no answer. */
interface TroubleProps {
  readonly error: ApiError;
  readonly retry?: () => void;
  /** Of when what is shown beside it is; undefined where nothing is. */
  readonly asOfMs?: number | undefined;
}

export function Trouble({ error, retry, asOfMs }: TroubleProps) {
  const [title, advice] = TROUBLES[error.code] ?? ['This cannot be shown.', undefined];
  if (asOfMs !== undefined) {
    return (
      <p class="note off" role="alert">
        <Icon name="failed" />
        <span>
          What is shown is of <Time ms={asOfMs} />: {error.message}
        </span>
        {retry !== undefined && (
          <button type="button" class="lnk" onClick={retry}>
            Try again
          </button>
        )}
      </p>
    );
  }
  return (
    <div class="empty" role="alert">
      <h2>{title}</h2>
      <p>{error.message}</p>
      {advice !== undefined && <pre class="code">{advice}</pre>}
      {retry !== undefined && (
        <button type="button" class="btn" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

const TROUBLES: Readonly<Record<string, readonly [string, string?]>> = {
  OFFLINE: ['The server of this page is gone.', 'npx mcp-observatory up'],
  DATABASE_SCHEMA_MISSING: [
    'This database has no tables of mcp-observatory.',
    'npx mcp-observatory db migrate',
  ],
  DATABASE_UNREACHABLE: ['The database cannot be reached.', 'npx mcp-observatory db status'],
  DATABASE_REFUSED: ['The database refused the question.'],
  INVALID_OPTION: ['This address asks for something that cannot be.'],
};

interface EmptyProps {
  readonly title: string;
  /** Whether nothing else is on the page. */
  readonly isPage?: boolean;
  readonly children?: ComponentChildren;
}

export function Empty({ title, isPage, children }: EmptyProps) {
  const Title = isPage === true ? 'h1' : 'h2';
  return (
    <div class="empty">
      <Title>{title}</Title>
      {children}
    </div>
  );
}

let title = { of: '', waits: 0 };

/** Names the tab of the browser: what it shows, and how many wait for a person. */
export function setTitle(of: string, waits: number = title.waits): void {
  title = { of, waits };
  document.title = `${waits === 0 ? '' : `(${waits}) `}${of} · mcp-observatory`;
}

export const countInTitle = (waits: number): void => setTitle(title.of, waits);

const COPIED_MS = 1500;

/** Copies a text and says so. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button type="button" class="ib" aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={isCopied ? 'ok' : 'copy'} class={isCopied ? 's-ok' : 'dim'} />
      <span class="vh" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  );
}

/** A line for a shell or a file, to copy. */
export function CopyLines({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <div class="cmd">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}
