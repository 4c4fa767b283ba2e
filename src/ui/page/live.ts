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
let events: EventSource | undefined;
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

/** Listens to the server as long as the page is open, and reconnects after any loss. */
export function startLive(): void {
  listen();
  setInterval(() => {
    if (Date.now() - heardMs > SILENCE_MS && !document.hidden) setConnection('server');
  }, 250);
}

function listen(): void {
  const source = new EventSource('/api/live');
  events = source;
  const on = (name: string, act: (data: string) => void) =>
    source.addEventListener(name, (event) => {
      heardMs = Date.now();
      act(String((event as MessageEvent).data));
    });
  on('beat', () => {
    // The server is alive; it reports its database separately.
    if (connection.lost !== 'database') setConnection(undefined);
  });
  on('down', (data) => setConnection('database', String(JSON.parse(data))));
  on('up', () => setConnection(undefined));
  on('changed', () => {
    setConnection(undefined);
    tell('changed');
  });
  source.addEventListener('error', () => {
    setConnection('server');
    // Refused, and not tried again by the browser: the server may have been started anew.
    if (source.readyState !== EventSource.CLOSED || events !== source) return;
    source.close();
    void loadAnswer('/api/session').then(undefined, sessionOver);
    setTimeout(listen, AGAIN_MS);
  });
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
