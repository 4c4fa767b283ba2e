import { useRef, useState } from 'preact/hooks';
import type { SavedView } from '../../runs/index.ts';
import { post, useData } from './data.ts';
import { Menu, MenuForm } from './notes.tsx';
import { type ApiError, Icon } from './parts.tsx';
import type { Route } from './route.ts';

const MEASURES = [
  ['', 'nothing'],
  ['cost', 'US dollars a day'],
  ['failed', 'share of failed runs, %'],
  ['contradicted', 'contradicted answers a day'],
] as const;

/** What a threshold is shown as: shares are stored from 0 to 1. */
const toShown = ({ measure, threshold }: SavedView) =>
  threshold === null ? '' : String(measure === 'failed' ? threshold * 100 : threshold);

/** The views that were kept: each one click away; and this one, to keep. */
export function SavedViews({ route }: { route: Route }) {
  const [isOpen, setOpen] = useState(false);
  const [trouble, setTrouble] = useState('');
  const { data, retry } = useData<{ views: readonly SavedView[] }>(isOpen ? '/api/views' : undefined, 'once');
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
              {view.isOver ? 'is above' : 'tells above'} {toShown(view)}{' '}
              {MEASURES.find(([measure]) => measure === view.measure)?.[1]}
            </span>
          )}
          <button
            type="button"
            class="ib"
            aria-label={`Forget ${view.name}`}
            onClick={() => void send(`/api/views/${view.id}/remove`, {})}
          >
            <Icon name="close" />
          </button>
        </p>
      ))}
      {data !== undefined && views.length === 0 && <p class="sub">No view is kept yet.</p>}
      <MenuForm button="Keep" trouble={trouble} onSubmit={save}>
        <label>
          Keep this view as
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
