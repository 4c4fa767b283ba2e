import { useEffect, useRef, useState } from 'preact/hooks';
import { useData } from './data.ts';
import { CopyButton, Icon, Trouble } from './parts.tsx';

/** An address of the server and what its figures are. */
export interface SqlSource {
  readonly title: string;
  readonly address: string;
}

/** Opens the statements behind the figures of a view, with their values, to copy. */
export function SqlButton({ sources }: { sources: readonly SqlSource[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="btn sqlb" title="SQL behind these figures" onClick={() => setOpen(true)}>
        SQL
      </button>
      {isOpen && <SqlDialog sources={sources} close={() => setOpen(false)} />}
    </>
  );
}

function SqlDialog({ sources, close }: { sources: readonly SqlSource[]; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="sql-title" onClose={close}>
      <div class="help">
        <form method="dialog" class="ph">
          <h2 id="sql-title">SQL behind these figures</h2>
          <button type="submit" class="ib" aria-label="Close">
            <Icon name="close" />
          </button>
        </form>
        <p class="sub">Values are written out: run it in psql as it is. Times are UTC.</p>
        {sources.map((source) => (
          <Statements key={source.address} source={source} />
        ))}
      </div>
    </dialog>
  );
}

function Statements({ source: { title, address } }: { source: SqlSource }) {
  const { data, error } = useData<{ statements: readonly string[] }>(
    `${address}${address.includes('?') ? '&' : '?'}sql`,
    'once',
  );
  if (error !== undefined) return <Trouble error={error} />;
  return (
    <section>
      <h3>{title}</h3>
      {data?.statements.map((statement) => (
        <div key={statement} class="stmt">
          {/* A region that scrolls must be reachable by keyboard. */}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
          <pre class="code" tabIndex={0}>
            {statement}
          </pre>
          <CopyButton text={statement} label="Copy the statement" />
        </div>
      ))}
    </section>
  );
}
