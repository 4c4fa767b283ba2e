import { useEffect, useState } from 'preact/hooks';
import { isLivePaused, watch } from './live.ts';
import type { ApiError } from './parts.tsx';
import { askServer, type Fetched, loadAnswer, sessionHeaders } from './session.tsx';

/** An answer of the server: the last good one stays while the next is on its way. */
export interface Question<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** When `data` was last known to be right, milliseconds since 1970. */
  readonly asOfMs: number | undefined;
  /** Asks again. */
  readonly retry: () => void;
}

type Answered = Omit<Question<readonly unknown[]>, 'retry'>;

/** How a question follows what happens: not at all, while the page is live, or also while it is paused. */
type Follows = 'once' | 'live' | 'always';

/** Pause after a failure, doubled with each further one. */
const AGAIN_MS = 2000;
const MAX_AGAIN_MS = 30_000;
const MAX_REST_MS = 10_000;

/**
 * The answers of some addresses that belong together, asked for by all who show them. A request is never given up for a
 * newer one: what changes meanwhile is asked for when it has ended, so that no stream of changes can keep a slow view
 * from loading. Addresses are asked with the mark of what is there, and what has not changed is not sent again.
 */
class Feed {
  state: Answered = { data: undefined, error: undefined, isLoading: true, asOfMs: undefined };
  readonly #addresses: readonly string[];
  readonly #readers = new Map<() => void, Follows>();
  readonly #abort = new AbortController();
  readonly #unwatch: () => void;
  #fetched: readonly Fetched[] = [];
  #isBusy = false;
  #isStale = false;
  #failures = 0;
  #timer: number | undefined;

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses;
    this.#unwatch = watch((what) => {
      const follows = new Set(this.#readers.values());
      if (this.state.error !== undefined) this.ask();
      else if (what === 'changed' && (follows.has('always') || (follows.has('live') && !isLivePaused())))
        this.ask();
    });
  }

  /** Adds a reader; the last that leaves ends the feed. */
  read(reader: () => void, follows: Follows): () => void {
    this.#readers.set(reader, follows);
    if (this.#readers.size === 1) this.ask();
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size > 0) return;
      this.#unwatch();
      clearTimeout(this.#timer);
      this.#abort.abort();
      feeds.delete(this.#addresses.join(' '));
    };
  }

  /** Whether the page is paused for all who read this. */
  #isHeld(): boolean {
    return isLivePaused() && [...this.#readers.values()].every((follows) => follows === 'live');
  }

  ask(): void {
    this.#isStale = true;
    if (!this.#isBusy) void this.#load();
  }

  async #load(): Promise<void> {
    this.#isBusy = true;
    this.#isStale = false;
    clearTimeout(this.#timer);
    this.#set({ ...this.state, isLoading: true });
    const began = performance.now();
    const wasHeld = this.#isHeld();
    try {
      this.#fetched = await Promise.all(
        this.#addresses.map((address, i) => loadAnswer(address, this.#fetched[i], this.#abort.signal)),
      );
      this.#failures = 0;
      const data = this.#fetched.map(({ body }) => body);
      // What was asked for before the page was paused is not shown after it.
      const isLate = this.state.data !== undefined && !wasHeld && this.#isHeld();
      const shown = isLate ? this.state : { data, error: undefined, asOfMs: Date.now() };
      this.#set({ ...shown, isLoading: false });
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#set({ ...this.state, error: error as ApiError, isLoading: false });
    } finally {
      this.#isBusy = false;
    }
    this.#plan(performance.now() - began);
  }

  /** Asks again when there is a reason to: after a rest as long as the work took, or when a failure may have passed. */
  #plan(tookMs: number): void {
    const { error } = this.state;
    const mayPass = error !== undefined && (error.status === 0 || error.status >= 500);
    if (mayPass) {
      const again = Math.min(MAX_AGAIN_MS, AGAIN_MS * 2 ** this.#failures++);
      this.#timer = window.setTimeout(() => this.ask(), again);
    } else if (this.#isStale && !this.#isHeld()) {
      this.#timer = window.setTimeout(() => this.ask(), Math.min(MAX_REST_MS, Math.max(60, tookMs)));
    }
  }

  #set(state: Answered): void {
    this.state = state;
    for (const reader of this.#readers.keys()) reader();
  }
}

const feeds = new Map<string, Feed>();

/** Loads what some addresses give, and again when runs have changed; the answers are of one moment, or none is new. */
export function useAnswers<T extends readonly unknown[]>(
  addresses: readonly string[] | undefined,
  follows: Follows = 'live',
): Question<T> {
  const key = addresses?.join(' ');
  const [state, setState] = useState<Answered & { readonly key?: string | undefined }>({
    data: undefined,
    error: undefined,
    isLoading: key !== undefined,
    asOfMs: undefined,
  });
  useEffect(() => {
    if (key === undefined || addresses === undefined) return undefined;
    const feed = feeds.get(key) ?? new Feed(addresses);
    feeds.set(key, feed);
    const read = () =>
      setState((last) => {
        const { data, error } = feed.state;
        // What another question was answered stays until this one is, but not beside its error.
        const before =
          data === undefined && error === undefined ? { data: last.data, asOfMs: last.asOfMs } : {};
        return { ...feed.state, ...before, key };
      });
    const leave = feed.read(read, follows);
    read();
    return leave;
  }, [key, follows]);
  return {
    ...state,
    data: state.data as T | undefined,
    isLoading: state.isLoading || state.key !== key,
    retry: () => key !== undefined && feeds.get(key)?.ask(),
  };
}

/** Loads what an address of the server gives, and again when runs have changed. */
export function useData<T>(address: string | undefined, follows: Follows = 'live'): Question<T> {
  const { data, ...rest } = useAnswers<readonly [T]>(address === undefined ? undefined : [address], follows);
  return { ...rest, data: data?.[0] };
}

/** How many runs have begun while the page is paused; undefined while it is not. */
export function useNewRuns(paused: boolean): number | undefined {
  const [since, setSince] = useState<number | undefined>(undefined);
  useEffect(() => setSince(paused ? Date.now() : undefined), [paused]);
  const address = since === undefined ? undefined : `/api/metrics?since=${since}`;
  const { data } = useData<{ runs: number }>(address, 'always');
  return paused && since !== undefined ? (data?.runs ?? 0) : undefined;
}

/** Sends something to be done. @throws ApiError why it is not. */
export async function post<T>(address: string, body: object): Promise<T> {
  const { body: answer } = await askServer(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer as T;
}

/** Loads a file and gives it to the browser to keep. A link would be asked for without the key of the session. */
export async function saveFile(address: string, name: string): Promise<void> {
  const response = await fetch(address, { headers: sessionHeaders() });
  if (!response.ok)
    throw { code: 'HTTP', message: `The server answered ${response.status}.`, status: response.status };
  keepFile(await response.blob(), name);
}

/** Gives the browser a file to keep. */
export function keepFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
