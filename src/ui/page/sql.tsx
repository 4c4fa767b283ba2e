import { useEffect, useRef, useState } from 'preact/hooks';
import { keepFile, useData } from './data.ts';
import { Menu } from './notes.tsx';
import { type ApiError, CopyButton, Icon, Trouble } from './parts.tsx';
import { fixedAddress, readRoute } from './route.ts';
import { loadAnswer } from './session.tsx';

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
      <ShareMenu sources={sources} />
      {isOpen && <SqlDialog sources={sources} close={() => setOpen(false)} />}
    </>
  );
}

type Rows = readonly Readonly<Record<string, unknown>>[];

/** A link that shows the same tomorrow, and the rows of a view as files. */
function ShareMenu({ sources }: { sources: readonly SqlSource[] }) {
  const [note, setNote] = useState('');
  const menu = useRef<HTMLDetailsElement>(null);
  const copy = async () => {
    await navigator.clipboard?.writeText(fixedAddress(readRoute())).catch(() => undefined);
    setNote('Copied');
  };
  const save = async ({ title, address }: SqlSource, kind: 'csv' | 'json') => {
    setNote('Loading');
    try {
      const answer = await loadAll(address);
      const text = kind === 'json' ? JSON.stringify(answer, null, 2) : toCsv(findRows(answer));
      keepFile(
        new Blob([text], { type: kind === 'json' ? 'application/json' : 'text/csv' }),
        `${toFileName(title)}.${kind}`,
      );
      setNote('');
    } catch (error) {
      setNote((error as ApiError).message);
    }
  };
  return (
    <Menu title="Share" menu={menu} onToggle={() => setNote('')}>
      <button type="button" class="lnk" onClick={() => void copy()}>
        Copy a link that stays
      </button>
      {sources.map((source) => (
        <p key={source.address}>
          <span class="sub">{source.title}</span>
          {(['csv', 'json'] as const).map((kind) => (
            <button key={kind} type="button" class="lnk" onClick={() => void save(source, kind)}>
              {kind.toUpperCase()}
            </button>
          ))}
        </p>
      ))}
      <p class="sub" role="status">
        {note}
      </p>
    </Menu>
  );
}

/** Rows of a file, at most. */
const MAX_ROWS = 10_000;

/** The whole answer; of a list in pages all of them. */
async function loadAll(address: string): Promise<Readonly<Record<string, unknown>>> {
  const [path = '', search = ''] = address.split('?', 2);
  const query = new URLSearchParams(search);
  if (query.has('limit')) query.set('limit', '500');
  const load = async () => (await loadAnswer(`${path}?${query}`)).body as Record<string, unknown>;
  const answer = await load();
  const runs = answer.runs;
  if (!Array.isArray(runs)) return answer;
  for (let { next } = answer; typeof next === 'string' && runs.length < MAX_ROWS; ) {
    query.set('after', next);
    const more = await load();
    runs.push(...(more.runs as unknown[]));
    next = more.next;
  }
  return { runs, isWhole: runs.length < MAX_ROWS };
}

const isRows = (value: unknown): value is Rows => Array.isArray(value) && typeof value[0] === 'object';
const listKeys = ({ rows: [first] }: { rows: Rows }) => Object.keys(first ?? {}).join();

/** The longest list of objects of an answer, with those like it: two ranges, what waits and what was decided. */
function findRows(answer: Readonly<Record<string, unknown>>): Rows {
  // Of a run; the pieces of its sentence may be more.
  if (isRows(answer.spans)) return answer.spans;
  const inside = (of: string, values: readonly unknown[]) =>
    values.filter(isRows).map((rows) => ({ of, rows }));
  const entries = Object.entries(answer);
  const own = entries.flatMap(([of, value]) => inside(of, [value]));
  const lists =
    own.length > 0 ? own : entries.flatMap(([of, value]) => inside(of, Object.values(value ?? {})));
  const [longest] = [...lists].sort((a, b) => b.rows.length - a.rows.length);
  if (longest === undefined) return Object.values(answer).every(Array.isArray) ? [] : [answer];
  const alike = lists.filter((list) => listKeys(list) === listKeys(longest));
  if (alike.length === 1) return longest.rows;
  return alike.flatMap(({ of, rows }) => rows.map((row) => ({ of, ...row })));
}

function toCsv(rows: Rows): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => names.map((name) => toCell(name, row[name])).join(','));
  // Without the mark at its beginning, Excel reads UTF-8 as the code page of the machine.
  return `\ufeff${[names.join(','), ...lines, ''].join('\r\n')}`;
}

/** Times in ISO 8601. A text that a spreadsheet would compute, in full-width signs too, stays a text. */
function toCell(name: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number')
    return name.endsWith('Ms') && value > 1e11 ? new Date(value).toISOString() : String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `"${(/^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/u.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

const toFileName = (title: string) => title.toLowerCase().replace(/[^a-z]+/gu, '-');

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
