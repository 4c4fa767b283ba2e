import { useEffect, useRef } from 'preact/hooks';
import { goBack, link, toView } from './route.ts';

/** A view with the letter that leads to it after `g`. */
export interface ViewKey {
  readonly view: string;
  readonly name: string;
  readonly key: string;
}

const RUN_TABS: Readonly<Record<string, string>> = { '1': 'conversation', '2': 'waterfall', '3': 'raw' };

/** Whether a key is meant for a field. */
export function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}

/** Keys that work anywhere but in a field or with a dialog open; Ctrl K opens the palette from a field too. */
export function useKeys(views: readonly ViewKey[], actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef({ views, actions });
  latest.current = { views, actions };
  useEffect(() => {
    let isAfterG = false;
    const onKey = (event: KeyboardEvent) => {
      if (document.querySelector('dialog[open]') !== null) return;
      if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
        event.preventDefault();
        latest.current.actions.palette?.();
        return;
      }
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (isAfterG) {
        const found = latest.current.views.find(({ key }) => key === event.key);
        isAfterG = false;
        if (found !== undefined) location.hash = toView(found.view);
        return;
      }
      if (event.key === 'g') isAfterG = true;
      else if (event.key === '/') {
        event.preventDefault();
        document.getElementById('filter')?.focus();
      } else if (!onViewKey(event)) latest.current.actions[event.key]?.();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** Keys whose meaning depends on the view; false when this one has none. */
function onViewKey(event: KeyboardEvent): boolean {
  const [path = '', search = ''] = location.hash.slice(2).split('?', 2);
  const [view, id, tab = 'conversation'] = path.split('/');
  const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0;
  if (view !== 'run') {
    if (step !== 0 && view !== '' && view !== 'runs') moveFocus('main tbody td:first-child a', step);
    return step !== 0;
  }
  if (event.key === 'Escape') {
    const query = new URLSearchParams(search);
    const isClosing = query.has('span');
    query.delete('span');
    if (isClosing) location.hash = link(`run/${id}/${tab}`, Object.fromEntries(query));
    else goBack();
    return true;
  }
  const other = RUN_TABS[event.key];
  if (other !== undefined) {
    const span = new URLSearchParams(search).get('span');
    location.hash = link(`run/${id}/${other}`, { span });
    return true;
  }
  if (step !== 0) moveSpan(step);
  return step !== 0;
}

/** Chooses the next or previous span that is shown. */
function moveSpan(step: number): void {
  const anchors = [...document.querySelectorAll<HTMLAnchorElement>('#tabpanel a[data-span]')];
  const at = anchors.findIndex(
    (anchor) => anchor.closest('[aria-current]') !== null || anchor.hasAttribute('aria-current'),
  );
  const next = anchors[at === -1 ? 0 : at + step];
  if (next === undefined) return;
  location.hash = next.hash;
  next.scrollIntoView({ block: 'nearest' });
}

function moveFocus(selector: string, step: number): void {
  const anchors = [...document.querySelectorAll<HTMLAnchorElement>(selector)];
  const at = anchors.indexOf(document.activeElement as HTMLAnchorElement);
  anchors[at === -1 ? 0 : Math.max(0, Math.min(anchors.length - 1, at + step))]?.focus();
}
