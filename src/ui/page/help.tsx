import { useEffect, useRef } from 'preact/hooks';

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['j k', 'next, previous run, span or row'],
  ['↵', 'open'],
  ['esc', 'close the details, then the run'],
  ['/', 'filter'],
  ['1 2 3', 'Conversation, Waterfall, Raw JSON-RPC'],
  ['a x', 'approve, reject what waits'],
  ['g r t c w m', 'g, then: Runs, Tools, Cost, Waiting, Compare'],
  ['p', 'pause, go live'],
  ['t', 'light or dark colors'],
  ['Ctrl K', 'go to a view, a run, a tool; ⌘K on a Mac'],
];

/** The keys. */
export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={close}>
      <div class="help">
        <h2 id="keys">Keys</h2>
        <dl>
          {KEYS.map(([keys, does]) => (
            <div key={keys} class="kv">
              <dt>
                {(keys === 'Ctrl K' ? [keys] : keys.split(' ')).map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button class="btn" type="submit">
            Close
          </button>
        </form>
      </div>
    </dialog>
  );
}
