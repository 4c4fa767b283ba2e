import { useEffect, useState } from 'preact/hooks';
import { type ApiError, CopyLines, Empty } from './parts.tsx';

/**
 * The key of this browser's session. The address that was printed gives it, together with a cookie; the server wants both.
 * Storage belongs to this port alone, which a cookie does not.
 */
const NAME = 'mcp-observatory-key';
let key: string | undefined;

/** What each request needs. */
export const sessionHeaders = (): Record<string, string> => ({ 'x-observatory-key': key ?? stored() ?? '' });

/** Takes the key out of the address, if it is good: a link cannot end the session there is. */
export async function openSession(): Promise<void> {
  const url = new URL(location.href);
  const given = url.searchParams.get('key');
  if (given === null) return;
  url.searchParams.delete('key');
  history.replaceState(null, '', url);
  const headers = { 'x-observatory-key': given };
  const answer = await fetch('/api/session', { headers }).catch(() => undefined);
  if (answer?.ok !== true) return;
  key = given;
  try {
    localStorage.setItem(NAME, given);
  } catch {
    // A browser that stores nothing has the session until the page is loaded again.
  }
}

function stored(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

/** An answer and the mark that its server gave it. */
export interface Fetched {
  readonly body: unknown;
  readonly mark: string | null;
}

/** Loads what an address gives; what is there already is kept if it has not changed. @throws ApiError why it cannot. */
export function loadAnswer(address: string, known?: Fetched, signal?: AbortSignal): Promise<Fetched> {
  const mark = known?.mark;
  return askServer(address, {
    ...(signal !== undefined && { signal }),
    ...(mark != null && { headers: { 'if-none-match': mark } }),
  }).then((answer) => (answer.body === undefined && known !== undefined ? known : answer));
}

/** Asks the server. @throws ApiError why there is no answer. */
export async function askServer(address: string, init: RequestInit): Promise<Fetched> {
  let response: Response;
  try {
    // The browser would keep what people said on its disk.
    response = await fetch(address, {
      ...init,
      cache: 'no-store',
      headers: { ...init.headers, ...sessionHeaders() },
    });
  } catch {
    throw { code: 'OFFLINE', message: 'The page cannot reach its server.', status: 0 } satisfies ApiError;
  }
  const mark = response.headers.get('etag');
  if (response.status === 304) return { body: undefined, mark };
  const body = (await response.json().catch(() => undefined)) as { error?: ApiError } | undefined;
  if (response.ok && body !== undefined) return { body, mark };
  const { code = 'HTTP', message = `The server answered ${response.status}.` } = body?.error ?? {};
  const error = { code, message, status: response.status } satisfies ApiError;
  sessionOver(error);
  throw error;
}

let isLocked = false;
const watchers = new Set<() => void>();

/** Locks the page where the server does not know this browser. */
export function sessionOver({ status }: ApiError): void {
  // 421: the page was started anew, and has another name.
  if (status !== 401 && status !== 421) return;
  isLocked = true;
  for (const watcher of watchers) watcher();
}

export function useLocked(): boolean {
  const [locked, setLocked] = useState(isLocked);
  useEffect(() => {
    const watcher = () => setLocked(isLocked);
    watchers.add(watcher);
    watcher();
    // The new address was opened in another tab.
    const onStorage = (event: StorageEvent) => {
      if (event.key === NAME) location.reload();
    };
    addEventListener('storage', onStorage);
    return () => {
      watchers.delete(watcher);
      removeEventListener('storage', onStorage);
    };
  }, []);
  return locked;
}

/** What is shown to a browser that the server does not know. */
export function Locked() {
  return (
    <Empty isPage title="This browser is not signed in">
      <p>
        Open the newest address that <code>mcp-observatory up</code> or <code>ui</code> printed where it runs.
        Each address is for one browser, and ends with the process: after a restart there is a new one.
      </p>
      <p class="dim">In the shell, what waits is listed and decided with:</p>
      <CopyLines text="npx mcp-observatory approvals list" label="Copy the command" />
    </Empty>
  );
}
