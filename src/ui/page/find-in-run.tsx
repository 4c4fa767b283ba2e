import { useState } from 'preact/hooks';
import { formatCount, formatCounted } from '../../runs/index.ts';
import { useData } from './data.ts';

interface FindInRunProps {
  readonly address: string;
  readonly chosen: string | undefined;
  readonly choose: (span: string) => void;
}

/** Looks for a text in all spans of the run, also in those whose texts are not shown, and goes from one to the next. */
export function FindInRun({ address, chosen, choose }: FindInRunProps) {
  const [text, setText] = useState('');
  const [asked, ask] = useState('');
  const { data, error } = useData<{ spans: readonly string[] }>(
    asked === '' ? undefined : `${address}/find?text=${encodeURIComponent(asked)}`,
    'once',
  );
  const spans = asked === text.trim() ? data?.spans : undefined;
  const at = spans?.indexOf(chosen ?? '') ?? -1;
  const go = (step: number) => {
    if (text.trim() !== asked) ask(text.trim());
    else if (spans !== undefined && spans.length > 0)
      choose(spans[(Math.max(at, step < 0 ? 0 : -1) + step + spans.length) % spans.length] as string);
  };
  return (
    <span class="find">
      <input
        type="search"
        aria-label="Find in this run"
        placeholder="Find in this run"
        maxLength={200}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
          else if (event.key === 'Escape') {
            event.stopPropagation();
            setText('');
            ask('');
            event.currentTarget.blur();
          }
        }}
      />
      <span class="sub" role="status">
        {error?.message}
        {asked !== '' && spans !== undefined && (
          <>
            {at < 0 ? '' : `${formatCount(at + 1)} of `}
            {formatCounted(spans.length, 'span')}
            {spans.length > 0 && at < 0 && (
              <button type="button" class="lnk" onClick={() => go(1)}>
                Next
              </button>
            )}
          </>
        )}
      </span>
    </span>
  );
}
