import { useEffect, useState } from 'preact/hooks';
import { loadAnswer, sessionOver } from './session.tsx';

/** A server that says nothing for so long is gone; it says that it lives twice a second. */
const SILENCE_MS = 2500;
const AGAIN_MS = 2000;

/** What the page knows of its server and of the database behind it. */
export interface PageConnection {
  /** Which of them does not answer. */
  readonly lost: 'server' | 'database' | undefined;
  /** What the server says of its database. */
  readonly why: string;
  /** Until when everything was new, milliseconds since 1970. */
  readonly asOfMs: number;
}

type Watcher = (what: 'changed' | 'connection') => void;

let connection: PageConnection = { lost: undefined, why: '', asOfMs: Date.now() };
let isPaused = false;
let heardMs = Date.now();
const watchers = new Set<Watcher>();

/** Calls the watcher when runs or waiting requests may have changed, and when the connection has. */
export function watch(watcher: Watcher): () => void {
  watchers.add(watcher);
  return () => {
    watchers.delete(watcher);
  };
}

function tell(what: 'changed' | 'connection'): void {
  for (const watcher of watchers) watcher(what);
}

function setConnection(lost: PageConnection['lost'], why = ''): void {
  if (lost === connection.lost && why === connection.why) {
    if (lost === undefined) connection = { ...connection, asOfMs: Date.now() };
    return;
  }
  const asOfMs = lost === undefined ? Date.now() : connection.asOfMs;
  connection = { lost, why, asOfMs };
  tell('connection');
}

/**
 * Listens to the server as long as the page is open. A browser has six connections to a server, so that one of its tabs
 * listens for all, and another one once that is closed. Without a lock, which it has at addresses it trusts, each listens.
 */
export function startLive(): void {
  setInterval(() => {
    if (Date.now() - heardMs > SILENCE_MS && !document.hidden) setConnection('server');
  }, 250);
  if (navigator.locks === undefined) {
    listen(hear);
    return;
  }
  const tabs = new BroadcastChannel('live');
  tabs.onmessage = ({ data }) => hear(data);
  const tellAll = (heard: Heard) => {
    tabs.postMessage(heard);
    hear(heard);
  };
  const share = () => {
    // A page that is kept for "Back" would keep the lock, and its place among those that wait for it.
    const left = new AbortController();
    const { signal } = left;
    addEventListener('pagehide', () => left.abort(), { once: true });
    const lead = () =>
      new Promise((leave) => {
        signal.onabort = leave;
        listen(tellAll, signal);
      });
    navigator.locks.request('live', { signal }, lead).catch(() => undefined);
  };
  share();
  addEventListener('pageshow', ({ persisted }) => persisted && share());
}

/** What the server said, with its data; or that it is `lost`, or has `refused` to say more. */
type Heard = readonly [name: string, data: string];

/** Reconnects after any loss. */
function listen(pass: (heard: Heard) => void, signal?: AbortSignal): void {
  if (signal?.aborted) return;
  const source = new EventSource('/api/live');
  signal?.addEventListener('abort', () => source.close());
  for (const name of ['beat', 'down', 'changed'])
    source.addEventListener(name, (event) => pass([name, (event as MessageEvent).data]));
  source.onerror = () => {
    pass(['lost', '']);
    // Refused, and not tried again by the browser: the server may have been started anew.
    if (source.readyState !== EventSource.CLOSED) return;
    pass(['refused', '']);
    setTimeout(listen, AGAIN_MS, pass, signal);
  };
}

function hear([name, data]: Heard): void {
  if (name === 'lost') setConnection('server');
  else if (name === 'refused') void loadAnswer('/api/session').then(undefined, sessionOver);
  else {
    heardMs = Date.now();
    if (name === 'down') setConnection('database', JSON.parse(data));
    else setConnection(undefined);
    if (name === 'changed') tell('changed');
  }
}

/** The connection as it is, for those who draw it. */
export function useConnection(): PageConnection {
  const [seen, setSeen] = useState(connection);
  useEffect(() => {
    setSeen(connection);
    return watch(() => setSeen(connection));
  }, []);
  return seen;
}

/** Stops or resumes; what changed meanwhile is loaded on resuming. */
export function setPaused(paused: boolean): void {
  isPaused = paused;
  if (!paused) tell('changed');
}

export const isLivePaused = (): boolean => isPaused;
