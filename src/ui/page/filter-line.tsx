import { useEffect, useRef, useState } from 'preact/hooks';
import { complete, parseFilter, type SeenNames } from '../../runs/index.ts';
import { Icon } from './parts.tsx';

const DELAY_MS = 120;

interface FilterLineProps {
  readonly value: string;
  readonly seen: SeenNames;
  readonly onChange: (value: string) => void;
}

/** The filter: one input over a painted copy, with completion and "did you mean". */
export function FilterLine({ value, seen, onChange }: FilterLineProps) {
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState<number | undefined>(undefined);
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<number>();
  useEffect(() => setText(value), [value]);
  const completions = caret === undefined ? [] : complete(text, caret, seen);
  const { terms, problems } = parseFilter(text);
  // A last word that may become a field is no problem yet.
  const problem = problems.find(({ end }) => caret === undefined || end < text.length);

  const change = (next: string, at: number | undefined, now = false) => {
    setText(next);
    setCaret(at);
    setChosen(0);
    clearTimeout(timer.current);
    const isUnfinished =
      !now &&
      at !== undefined &&
      (parseFilter(next).problems.length > 0 ||
        (complete(next, at, seen).some((one) => one.text.length > next.length) &&
          /(?:^|\s)-?[a-z]*$/i.test(next.slice(0, at))));
    if (!isUnfinished) timer.current = window.setTimeout(() => onChange(next.trim()), now ? 0 : DELAY_MS);
  };
  const take = (i: number) => {
    const completion = completions[i];
    if (completion === undefined) return;
    change(completion.text, completion.caret);
    requestAnimationFrame(() => input.current?.setSelectionRange(completion.caret, completion.caret));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      if (caret === undefined) input.current?.blur();
      setCaret(undefined);
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (completions.length === 0) return;
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setChosen((chosen + step + completions.length) % completions.length);
    } else if (event.key === 'Tab' && completions.length > 0 && !event.shiftKey && text !== '') {
      event.preventDefault();
      take(chosen);
    } else if (event.key === 'Enter') {
      if (completions.length > 0 && /\S$/.test(text) && chosen > 0) take(chosen);
      else change(text, undefined, true);
    }
  };
  return (
    <>
      <div class="filter">
        <label class="vh" for="filter">
          Filter
        </label>
        <Icon name="search" class="dim" />
        <div class="fwrap">
          <div class="fpaint" aria-hidden="true">
            <Painted text={text} terms={terms} problems={problems} />
          </div>
          <input
            id="filter"
            ref={input}
            spellcheck={false}
            autocomplete="off"
            role="combobox"
            aria-autocomplete="list"
            aria-expanded={completions.length > 0}
            aria-controls="comp"
            aria-activedescendant={completions.length > 0 ? `completion-${chosen}` : undefined}
            placeholder="tool:pay status:failed cost>0.01"
            value={text}
            onInput={(event) => change(event.currentTarget.value, event.currentTarget.selectionStart ?? 0)}
            onFocus={(event) => setCaret(event.currentTarget.selectionStart ?? text.length)}
            onBlur={() => setTimeout(() => setCaret(undefined), 150)}
            onKeyDown={onKeyDown}
          />
        </div>
        {text === '' ? (
          <kbd>/</kbd>
        ) : (
          <button
            type="button"
            class="ib"
            aria-label="Clear the filter"
            onClick={() => change('', undefined, true)}
          >
            <Icon name="close" />
          </button>
        )}
        <div id="comp" role="listbox" aria-label="Completions" hidden={completions.length === 0}>
          {completions.map((one, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input, which keeps the focus, has the keys
            <div
              key={one.label}
              role="option"
              id={`completion-${i}`}
              tabIndex={-1}
              aria-selected={i === chosen}
              onClick={() => take(i)}
            >
              <span class="mono">{one.label}</span>
              <span class="sub">{one.hint}</span>
            </div>
          ))}
        </div>
      </div>
      {problem !== undefined && (
        <p class="note problem" role="status">
          <Icon name="failed" />
          <span>
            {problem.message}.{' '}
            {problem.suggestion !== undefined && (
              <button
                type="button"
                class="lnk"
                onClick={() =>
                  change(
                    text.slice(0, problem.start) + problem.suggestion + text.slice(problem.end),
                    undefined,
                    true,
                  )
                }
              >
                Did you mean <code>{problem.suggestion}</code>?
              </button>
            )}
          </span>
        </p>
      )}
    </>
  );
}

type Parsed = ReturnType<typeof parseFilter>;

/** The text with fields grey, values in the accent color, and what is not understood underlined. */
function Painted({ text, terms, problems }: { text: string } & Parsed) {
  const marks = [
    ...terms.map((term) => ({ ...term, isBad: false })),
    ...problems.map((one) => ({ ...one, isBad: true })),
  ];
  marks.sort((a, b) => a.start - b.start);
  const parts = [];
  let at = 0;
  for (const { start, end, isBad } of marks) {
    parts.push(text.slice(at, start));
    const word = text.slice(start, end);
    const [, key = '', value = word] = /^(-?[A-Za-z_.]+(?:>=|<=|:|>|<))(.*)$/su.exec(word) ?? [];
    parts.push(
      isBad ? (
        <span class="fbad">{word}</span>
      ) : (
        <>
          <span class="fk">{key}</span>
          <span class={key === '' ? '' : 'fv'}>{value}</span>
        </>
      ),
    );
    at = end;
  }
  parts.push(text.slice(at));
  return <>{parts}</>;
}
