import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from './parts.tsx';
import { lock, sessionHeaders } from './session.tsx';

/** An answer of the server: the last good one stays while the next is on its way. */
export interface Question<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Asks again. */
  readonly retry: () => void;
}

/** What the server tells all pages: counts up when runs have changed. */
let version = 0;
let isPaused = false;
const watchers = new Set<() => void>();
let events: EventSource | undefined;

/** Listens for changes; the browser connects again by itself. */
export function startLive(): void {
  events = new EventSource('/api/live');
  events.addEventListener('changed', () => {
    version += 1;
    if (!isPaused) for (const watcher of watchers) watcher();
  });
  events.addEventListener('error', () => {
    // Refused, and not tried again: the server may have been started anew.
    if (events?.readyState !== EventSource.CLOSED) return;
    void load('/api/session', AbortSignal.timeout(5000)).catch(() => undefined);
  });
}

/** How many runs have begun while the page is paused; undefined while it is not. */
export function useNewRuns(paused: boolean): number | undefined {
  const [count, setCount] = useState(0);
  useEffect(() => {
    setCount(0);
    if (!paused) return undefined;
    const since = Date.now();
    const ask = () =>
      void load<{ runs: number }>(`/api/metrics?since=${since}`, AbortSignal.timeout(5000)).then(
        ({ runs }) => setCount(runs),
        () => undefined,
      );
    events?.addEventListener('changed', ask);
    return () => events?.removeEventListener('changed', ask);
  }, [paused]);
  return paused ? count : undefined;
}

/** Stops or resumes; what changed meanwhile is loaded on resuming. */
export function setPaused(paused: boolean): void {
  isPaused = paused;
  if (!paused) for (const watcher of watchers) watcher();
}

/** A number that changes when runs have changed, unless paused. */
function useVersion(isLive: boolean): number {
  const [seen, setSeen] = useState(version);
  useEffect(() => {
    if (!isLive) return undefined;
    const watcher = () => setSeen(version);
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
    };
  }, [isLive]);
  return seen;
}

/** Loads what an address of the server gives, and again when runs have changed. */
export function useData<T>(address: string | undefined, isLive = true): Question<T> {
  const seen = useVersion(isLive);
  const [state, setState] = useState<{ address?: string; data?: T; error?: ApiError; isLoading: boolean }>({
    isLoading: address !== undefined,
  });
  const [tries, setTries] = useState(0);
  const delay = useRef<number>();
  useEffect(() => {
    if (address === undefined) return undefined;
    const abort = new AbortController();
    setState((last) => ({ ...last, isLoading: true }));
    clearTimeout(delay.current);
    delay.current = window.setTimeout(() => {
      load<T>(address, abort.signal).then(
        (data) => setState({ address, data, isLoading: false }),
        (error: ApiError) => {
          if (!abort.signal.aborted) {
            setState((last) => ({
              ...(last.address === address && last.data !== undefined ? { data: last.data } : {}),
              address,
              error,
              isLoading: false,
            }));
          }
        },
      );
    }, 60);
    return () => abort.abort();
    // What was seen is no input of the question: a change of it asks again.
  }, [address, seen, tries]);
  return {
    data: state.data,
    error: state.error,
    isLoading: state.isLoading,
    retry: () => setTries(tries + 1),
  };
}

/** Sends something to be done. @throws ApiError why it is not. */
export function post<T>(address: string, body: object): Promise<T> {
  return ask<T>(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** Loads a file and gives it to the browser to keep. A link would be asked for without the key of the session. */
export async function saveFile(address: string, name: string): Promise<void> {
  const response = await fetch(address, { headers: sessionHeaders() });
  if (!response.ok)
    throw { code: 'HTTP', message: `The server answered ${response.status}.`, status: response.status };
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

const load = <T>(address: string, signal: AbortSignal) => ask<T>(address, { signal });

async function ask<T>(address: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(address, { ...init, headers: { ...init.headers, ...sessionHeaders() } });
  } catch {
    throw { code: 'OFFLINE', message: 'The page cannot reach its server.', status: 0 } satisfies ApiError;
  }
  const body = (await response.json().catch(() => undefined)) as (T & { error?: ApiError }) | undefined;
  if (response.ok && body !== undefined) return body;
  if (response.status === 401) lock();
  const { code = 'HTTP', message = `The server answered ${response.status}.` } = body?.error ?? {};
  throw { code, message, status: response.status } satisfies ApiError;
}
