import { useRef, useState } from 'preact/hooks';
import { formatPlural } from '../../base/index.ts';
import type { SavedView } from '../../runs/index.ts';
import { post, useData } from './data.ts';
import { Menu, MenuForm } from './notes.tsx';
import { type ApiError, Icon, Time } from './parts.tsx';
import type { Route } from './route.ts';

const MEASURES = [
  ['', 'nothing'],
  ['cost', 'US dollars a day'],
  ['failed', '% of the runs of a day failed'],
  ['contradicted', 'contradicted answers a day'],
] as const;

/** A threshold in words: shares are stored from 0 to 1. */
function toShown({ measure, threshold }: SavedView): string {
  const above = Number(((measure === 'failed' ? 100 : 1) * (threshold ?? 0)).toPrecision(12));
  if (measure === 'cost') return `$${above} a day`;
  return measure === 'failed'
    ? `${above} % failed in a day`
    : `${formatPlural(above, 'contradicted answer', String(above))} a day`;
}

interface KeptViews {
  readonly views: readonly SavedView[];
  /** Null where no webhook is set. */
  readonly webhook: { readonly problem: { readonly message: string; readonly atMs: number } | null } | null;
}

/** The saved views, each one click away, and a form that saves the current one. */
export function SavedViews({ route }: { route: Route }) {
  const [isOpen, setOpen] = useState(false);
  const [trouble, setTrouble] = useState('');
  const { data, retry } = useData<KeptViews>(isOpen ? '/api/views' : undefined, 'once');
  const menu = useRef<HTMLDetailsElement>(null);
  const send = async (address: string, body: object) => {
    try {
      await post(address, body);
      setTrouble('');
    } catch (error) {
      setTrouble((error as ApiError).message);
    }
    retry();
  };
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const measure = String(form.get('measure'));
    const above = Number(form.get('above'));
    void send('/api/views', {
      name: String(form.get('name')),
      address: String(route.query),
      ...(measure !== '' && { measure, threshold: measure === 'failed' ? above / 100 : above }),
    });
  };
  const views = data?.views ?? [];
  return (
    <Menu title="Views" menu={menu} onToggle={setOpen}>
      {views.map((view) => (
        <p key={view.id}>
          <a href={`#/runs?${view.address}`} onClick={() => menu.current?.removeAttribute('open')}>
            {view.name}
          </a>
          {view.measure !== null && (
            <span class={view.isOver ? 'neg' : 'sub'}>
              {view.isOver ? 'now above' : 'alerts above'} {toShown(view)}
            </span>
          )}
          <button
            type="button"
            class="ib"
            aria-label={`Delete ${view.name}`}
            onClick={() => void send(`/api/views/${view.id}/remove`, {})}
          >
            <Icon name="close" />
          </button>
        </p>
      ))}
      {data !== undefined && views.length === 0 && <p class="sub">No saved views yet.</p>}
      {data?.webhook === null && views.some(({ measure }) => measure !== null) && (
        <p class="sub">
          Alerts go nowhere: start <code>up</code> or <code>ui</code> with <code>--webhook URL</code>.
        </p>
      )}
      {data?.webhook?.problem && (
        <p class="note off">
          <Icon name="failed" />
          <span>
            The webhook failed at <Time ms={data.webhook.problem.atMs} /> and is tried again:{' '}
            {data.webhook.problem.message}
          </span>
        </p>
      )}
      <MenuForm button="Save" trouble={trouble} onSubmit={save}>
        <label>
          Save this view as
          <input name="name" required maxLength={100} autocomplete="off" />
        </label>
        <label>
          Call the webhook above
          <span class="row">
            <input name="above" type="number" min="0" step="any" defaultValue="0" aria-label="Threshold" />
            <select name="measure" aria-label="What is compared">
              {MEASURES.map(([measure, words]) => (
                <option key={measure} value={measure}>
                  {words}
                </option>
              ))}
            </select>
          </span>
        </label>
      </MenuForm>
    </Menu>
  );
}
