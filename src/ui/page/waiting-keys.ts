import { useEffect, useRef } from 'preact/hooks';
import type { WaitingRow } from '../../runs/index.ts';
import { link } from './route.ts';

/** What can be done with what waits. */
export type WaitingDecision = 'approve' | 'reject' | 'revoke';

/** `j k` go through what waits, `a` approves, `x` rejects; a key that is held down decides once. */
export function useKeysOfWaiting(
  open: readonly WaitingRow[],
  id: string,
  decide: (decision: WaitingDecision) => void,
): void {
  const latest = useRef({ open, decide });
  latest.current = { open, decide };
  useEffect(() => {
    const onKey = ({ key, target, metaKey, ctrlKey, altKey, repeat }: KeyboardEvent) => {
      if (metaKey || ctrlKey || altKey || document.querySelector('dialog[open]') !== null) return;
      if (target instanceof HTMLElement && /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      const rows = latest.current.open;
      if (repeat && (key === 'a' || key === 'x')) return;
      if (key === 'a') latest.current.decide('approve');
      else if (key === 'x') latest.current.decide('reject');
      else if (key === 'j' || key === 'k') {
        const at = rows.findIndex((row) => row.id === id);
        const next = rows[Math.min(rows.length - 1, Math.max(0, at + (key === 'j' ? 1 : -1)))];
        if (next !== undefined) location.hash = link(`waiting/${next.id}`);
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [id]);
}
