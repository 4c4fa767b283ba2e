import { useEffect, useRef, useState } from 'preact/hooks';
import { filterValue, formatCounted, type RunList, type ToolRow } from '../../runs/index.ts';
import { useData } from './data.ts';
import type { ViewKey } from './keys.ts';
import { link } from './route.ts';

/** Something the page does. */
export interface Action {
  readonly name: string;
  readonly key: string;
  readonly run: () => void;
}

interface Entry {
  readonly group: 'Go to' | 'Do' | 'Runs' | 'Tools';
  readonly name: string;
  readonly more?: string | undefined;
  readonly key?: string;
  readonly run: () => void;
}

const MAX_ENTRIES = 14;
const DAY_MS = 86_400_000;

interface PaletteProps {
  readonly views: readonly ViewKey[];
  readonly actions: readonly Action[];
  readonly close: () => void;
}

/** Goes to a view, a run or a tool, or does something, by its name. */
export function Palette({ views, actions, close }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const entries = useEntries(views, actions);
  const found = matching(entries, text);
  const at = Math.min(chosen, found.length - 1);
  const take = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    dialog.current?.close();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      take(found[at]);
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setChosen((at + step + found.length) % Math.max(1, found.length));
    }
  };
  return (
    <dialog ref={dialog} class="pald" aria-label="Go to, do" onClose={close}>
      <input
        id="pq"
        autofocus
        autocomplete="off"
        spellcheck={false}
        placeholder="A view, a run, a tool or an action"
        aria-label="Command"
        role="combobox"
        aria-expanded="true"
        aria-controls="pr"
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? `command-${at}` : undefined}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id="pr" role="listbox" aria-label="Commands">
        {found.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input, which keeps the focus, has the keys
          <div
            key={`${entry.group}-${entry.name}-${i}`}
            id={`command-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            onClick={() => take(entry)}
          >
            <span class="pg">{found[i - 1]?.group === entry.group ? '' : entry.group}</span>
            <span class="ell">{entry.name}</span>
            <span class="sub ell">{entry.more}</span>
            {entry.key !== undefined && <kbd>{entry.key}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="foot">Nothing is called “{text}”.</p>}
      <p class="foot hint">↑ ↓ to move, ↵ to choose, esc to close</p>
    </dialog>
  );
}

function useEntries(views: readonly ViewKey[], actions: readonly Action[]): readonly Entry[] {
  const [since] = useState(() => Date.now() - DAY_MS);
  const runs = useData<RunList>('/api/runs?limit=30', 'once').data?.runs ?? [];
  const tools = useData<{ tools: readonly ToolRow[] }>(`/api/tools?since=${since}`, 'once').data?.tools ?? [];
  const go = (path: string, q?: string) => () => {
    location.hash = link(path, { q });
  };
  return [
    ...views.map(({ view, name, key }): Entry => ({ group: 'Go to', name, key: `g ${key}`, run: go(view) })),
    ...actions.map((action): Entry => ({ group: 'Do', ...action })),
    { group: 'Do', name: 'Show runs that failed', run: go('runs', 'status:failed') },
    { group: 'Do', name: 'Show answers the trace contradicts', run: go('runs', 'finding:contradicted') },
    { group: 'Do', name: 'Show what a policy denied', run: go('runs', 'status:denied') },
    { group: 'Do', name: 'How to send spans here', run: go('start') },
    ...runs.map(
      (run): Entry => ({
        group: 'Runs',
        name: run.name,
        more: `${run.client ?? run.service ?? ''} ${run.id.slice(0, 8)}`,
        run: go(`run/${run.id}`),
      }),
    ),
    ...tools.slice(0, 300).map(
      ({ server, tool, calls }): Entry => ({
        group: 'Tools',
        name: server === '' ? tool : `${server}.${tool}`,
        more: formatCounted(calls, 'call'),
        run: go('runs', `tool:${filterValue(tool)}`),
      }),
    ),
  ];
}

/** A part of the name before letters in order; nothing typed is what one can do anywhere, and runs. */
function matching(entries: readonly Entry[], text: string): readonly Entry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return entries.filter(({ group }) => group !== 'Tools').slice(0, MAX_ENTRIES);
  const rank = ({ name, more = '' }: Entry) => {
    const known = `${name} ${more}`.toLowerCase().slice(0, 300);
    if (known.includes(wanted)) return 2;
    let at = 0;
    for (const letter of wanted) {
      at = known.indexOf(letter, at) + 1;
      if (at === 0) return 0;
    }
    return 1;
  };
  return entries
    .map((entry) => ({ entry, rank: rank(entry) }))
    .filter((one) => one.rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, MAX_ENTRIES)
    .map(({ entry }) => entry);
}
