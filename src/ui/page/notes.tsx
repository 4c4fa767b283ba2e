import { useEffect, useRef, useState } from 'preact/hooks';
import { formatPlural } from '../../base/index.ts';
import { filterValue, type RelatedRuns, type RunRow } from '../../runs/index.ts';
import { post, useData } from './data.ts';
import type { ApiError } from './parts.tsx';
import { link } from './route.ts';

/** Labels of a run; each leads to the runs that have it. */
export function Labels({ labels }: { labels: readonly string[] }) {
  return (
    <>
      {labels.map((label) => (
        <a key={label} class="lab" href={link('runs', { q: `label:${filterValue(label)}` })}>
          {label}
        </a>
      ))}
    </>
  );
}

/** What a run has to do with others, and what somebody wrote on it; nothing where there is neither. */
export function AroundRun({ run, related }: { run: RunRow; related: RelatedRuns | undefined }) {
  const { primary = null, shadows = [], promptHash = null, samePrompt = 0 } = related ?? {};
  const facts = [
    primary !== null && (
      <>
        shadow of <RunLink id={primary} />
      </>
    ),
    shadows.length > 0 && (
      <>
        accompanied by{' '}
        {shadows.map((id) => (
          <RunLink key={id} id={id} />
        ))}
      </>
    ),
    promptHash !== null && samePrompt > 0 && (
      <a href={link('runs', { q: `prompt:${promptHash}`, range: '30d' })}>
        {formatPlural(samePrompt, 'other run', samePrompt === 100 ? '100 or more' : undefined)} of the same
        prompt
      </a>
    ),
    run.labels.length > 0 && <Labels labels={run.labels} />,
    run.note !== null && (
      <span class="written">
        {run.note} <span class="sub">{run.notedBy}</span>
      </span>
    ),
  ].filter(Boolean);
  if (facts.length === 0) return null;
  return (
    <ul class="beside">
      {facts.map((fact, i) => (
        <li key={i}>{fact}</li>
      ))}
    </ul>
  );
}

const RunLink = ({ id }: { id: string }) => (
  <a class="mono" href={link(`run/${id}`)}>
    {id.slice(0, 8)}
  </a>
);

/** What the server knows of a run beside the run itself. */
export const useRelated = (id: string): RelatedRuns | undefined =>
  useData<RelatedRuns>(`/api/runs/${id}/related`, 'once').data;

/** Writes labels and a note on a run. */
export function NoteMenu({ run, onSaved }: { run: RunRow; onSaved: () => void }) {
  const [trouble, setTrouble] = useState('');
  const menu = useRef<HTMLDetailsElement>(null);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const labels = String(form.get('labels')).split(',');
    try {
      await post(`/api/runs/${run.id}/note`, { labels, note: String(form.get('note')) });
      setTrouble('');
      if (menu.current !== null) menu.current.open = false;
      onSaved();
    } catch (error) {
      setTrouble((error as ApiError).message);
    }
  };
  return (
    <Menu title="Note" menu={menu}>
      <MenuForm button="Save" trouble={trouble} onSubmit={(event) => void save(event)}>
        <label>
          Labels, with commas between
          <input name="labels" defaultValue={run.labels.join(', ')} autocomplete="off" />
        </label>
        <label>
          Note
          <textarea name="note" rows={4} maxLength={2000} defaultValue={run.note ?? ''} />
        </label>
      </MenuForm>
    </Menu>
  );
}

interface MenuFormProps {
  readonly button: string;
  /** Why it was not taken; empty if it was. */
  readonly trouble: string;
  readonly onSubmit: (event: SubmitEvent) => void;
  readonly children: preact.ComponentChildren;
}

export const MenuForm = ({ button, trouble, onSubmit, children }: MenuFormProps) => (
  <form onSubmit={onSubmit}>
    {children}
    <button type="submit" class="btn">
      {button}
    </button>
    <p class="sub" role="status">
      {trouble}
    </p>
  </form>
);

interface MenuProps {
  readonly title: string;
  readonly menu: preact.RefObject<HTMLDetailsElement>;
  readonly onToggle?: (isOpen: boolean) => void;
  readonly children: preact.ComponentChildren;
}

/** A button with what it opens below it; Escape closes it, a click elsewhere, and another view. */
export function Menu({ title, menu, onToggle, children }: MenuProps) {
  useEffect(() => {
    const close = ({ target }: Event) => {
      const isWithin = target instanceof Node && menu.current?.contains(target) === true;
      if (menu.current !== null && !isWithin) menu.current.open = false;
    };
    const events = ['pointerdown', 'hashchange'];
    for (const event of events) addEventListener(event, close);
    return () => {
      for (const event of events) removeEventListener(event, close);
    };
  }, [menu]);
  return (
    <details
      ref={menu}
      class="menu"
      onToggle={(event) => onToggle?.(event.currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || menu.current?.open !== true) return;
        event.stopPropagation();
        menu.current.open = false;
        menu.current.querySelector('summary')?.focus();
      }}
    >
      <summary class="btn">{title}</summary>
      <div class="items">{children}</div>
    </details>
  );
}
