/** Worker threads are not recorded: the main thread writes the golden, and a worker that asks a model tells it so. */
import { BroadcastChannel } from 'node:worker_threads';
import { installSeams } from './seams.ts';
import { isModelAddress, toUrl } from './traffic.ts';

const CHANNEL = 'mcp-observatory:unrecorded';

/** Has the main thread told once when this worker asks a model. */
export function watchWorker(): void {
  let isTold = false;
  const look = (toAddress: () => URL): void => {
    try {
      const url = toAddress();
      if (isTold || !isModelAddress(url)) return;
      isTold = true;
      const channel = new BroadcastChannel(CHANNEL);
      channel.postMessage(`A worker thread is not recorded; it connects to ${url.origin}`);
      channel.close();
    } catch {
      // `fetch` refuses it with its own error.
    }
  };
  installSeams({
    fetch: (original) => (input, init) => {
      look(() => toUrl(input));
      return original(input, init);
    },
    request: ({ url }, original) => {
      look(() => url);
      return original();
    },
    spawn: (_, original) => original(),
    unseen: () => {},
  });
}

/** @param missed is called with what a worker did that is not recorded. */
export function listenToWorkers(missed: (what: string) => void): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event) => missed(String((event as unknown as { readonly data: unknown }).data));
  channel.unref();
}
