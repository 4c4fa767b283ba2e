import {
  type ComparedCall,
  type ComparedFigure,
  type Comparison,
  formatCount,
  formatCounted,
  formatDuration,
  formatUsd,
  type RunRow,
} from '../../runs/index.ts';
import { Duration, Icon, Time } from './parts.tsx';
import { link } from './route.ts';
import { type AnswerWord, changedWords } from './words.ts';

/** Two runs, or a golden and a run; a golden has no id. */
export type Compared = Comparison & {
  readonly a: Partial<RunRow> & { readonly name: string; readonly startMs: number | null };
  readonly b: RunRow;
  /** The last answers, where they are stored. */
  readonly answers: { readonly a: string | null; readonly b: string | null };
};

const NAMES: Readonly<Record<ComparedFigure['name'], string>> = {
  calls: 'Tool calls',
  failed: 'Failed',
  denied: 'Denied',
  withheld: 'Withheld',
  model_calls: 'Model calls',
  input_tokens: 'Tokens in',
  output_tokens: 'Tokens out',
  cost_usd: 'Cost',
  duration_ms: 'Duration',
};

export function ComparedResult({ data }: { data: Compared }) {
  const { a, b, figures, calls, leftOut, answers } = data;
  const words = answers.a === null || answers.b === null ? undefined : changedWords(answers.a, answers.b);
  return (
    <>
      <p class="explain sm">
        <Sentence data={data} words={words} />
      </p>
      <div class="cgrid">
        <section>
          <h2>Figures</h2>
          <table class="tbl">
            <thead>
              <tr>
                <th>Figure</th>
                <th class="num">A{a.startMs !== null && <>, {<Time ms={a.startMs} />}</>}</th>
                <th class="num">
                  B, <Time ms={b.startMs} />
                </th>
                <th class="num">B − A</th>
              </tr>
            </thead>
            <tbody>
              {figures.map((figure) => (
                <tr key={figure.name}>
                  <td>{NAMES[figure.name]}</td>
                  <td class="num">{shown(figure.name, figure.a)}</td>
                  <td class="num">{shown(figure.name, figure.b)}</td>
                  <td class="num">
                    {figure.a === null || figure.b === null ? (
                      <span class="dim">not known</span>
                    ) : (
                      signed(figure.name, figure.b - figure.a)
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
        <section>
          <h2>Tool calls, aligned</h2>
          {calls.length === 0 && <p class="foot">Neither called a tool.</p>}
          {calls.slice(0, MAX_DRAWN).map((call, i) => (
            <Pair key={i} call={call} a={a.id} b={b.id} />
          ))}
          {calls.length > MAX_DRAWN && (
            <p class="foot">Left out: {formatCounted(calls.length - MAX_DRAWN, 'more line')}.</p>
          )}
          {leftOut > 0 && <p class="foot">Not compared: {formatCounted(leftOut, 'more call')}.</p>}
        </section>
        {words !== undefined && (
          <section class="wide">
            <h2>Answers</h2>
            <div class="two">
              <Answer side="A" words={words.a} />
              <Answer side="B" words={words.b} />
            </div>
          </section>
        )}
      </div>
    </>
  );
}

/** Lines of calls that are drawn. */
const MAX_DRAWN = 300;

interface SentenceProps {
  readonly data: Compared;
  readonly words: ReturnType<typeof changedWords> | undefined;
}

function Sentence({ data: { calls, figures }, words }: SentenceProps) {
  const only = (mark: string) => calls.filter((call) => call.mark === mark).length;
  const difference = (name: ComparedFigure['name']) => {
    const figure = figures.find((one) => one.name === name);
    return figure === undefined || figure.a === null || figure.b === null ? undefined : figure.b - figure.a;
  };
  const count = (n: number) => formatCounted(n, 'call');
  const [more, fewer] = [only('+'), only('-')];
  const [ms, usd] = [difference('duration_ms'), difference('cost_usd')];
  const changed = words === undefined ? undefined : words.changed;
  return (
    <>
      {more + fewer === 0 ? (
        <>
          Both made <b>the same {count(calls.length)}</b>
        </>
      ) : (
        <>
          B{' '}
          <b>
            {more > 0 && `made ${count(more)} that A did not`}
            {more > 0 && fewer > 0 && ', and '}
            {fewer > 0 && `left out ${count(fewer)} of A`}
          </b>
        </>
      )}
      {ms !== undefined &&
        ms !== 0 &&
        `; it took ${formatDuration(Math.abs(ms))} ${ms > 0 ? 'longer' : 'less'}`}
      {usd === undefined
        ? figures.some(({ name }) => name === 'cost_usd') && '; the difference in cost is not known'
        : usd !== 0 && `; it cost ${formatUsd(Math.abs(usd))} ${usd > 0 ? 'more' : 'less'}`}
      {changed !== undefined &&
        (changed === 0
          ? '; the answers are the same'
          : `; the answers differ in ${formatCounted(changed, 'word')}`)}
      .
    </>
  );
}

interface PairProps {
  readonly call: ComparedCall;
  readonly a: string | undefined;
  readonly b: string;
}

const MARKS = { '=': 'in both', '-': 'only in A', '+': 'only in B' } as const;

function Pair({ call: { mark, a: one, b: other }, a, b }: PairProps) {
  return (
    <div class={mark === '=' ? 'ar' : 'ar only'}>
      <Side run={a} call={one} />
      <b class="dim" title={MARKS[mark]}>
        <span aria-hidden="true">{mark === '-' ? '−' : mark}</span>
        <span class="vh">{MARKS[mark]}</span>
      </b>
      <Side run={b} call={other} />
    </div>
  );
}

function Side({ run, call }: { run: string | undefined; call: ComparedCall['a'] }) {
  if (call === undefined) return <span class="gap">no such call</span>;
  const { status } = call;
  const words = (
    <>
      <Icon name={status} />
      <span class="mono ell">
        {call.span.server !== null && <span class="dim">{call.span.server}.</span>}
        {call.tool}
      </span>
      <span class="vh">{status}</span>
      <span class="num sub">
        <Duration ms={call.span.endMs - call.span.startMs} />
      </span>
    </>
  );
  // A golden has no page of its own.
  if (run === undefined) return <span class="sd">{words}</span>;
  return (
    <a class="sd" href={link(`run/${run}/waterfall`, { span: call.span.id })}>
      {words}
    </a>
  );
}

function Answer({ side, words }: { side: string; words: readonly AnswerWord[] }) {
  return (
    <p class="say">
      <span class="ab">{side}</span>{' '}
      {words.map(({ text, isOwn }, i) => {
        if (!isOwn) return text;
        return side === 'A' ? <del key={i}>{text}</del> : <ins key={i}>{text}</ins>;
      })}
    </p>
  );
}

function shown(name: ComparedFigure['name'], value: number | null): string {
  if (value === null) return name === 'cost_usd' ? 'unpriced' : 'not known';
  if (name === 'cost_usd') return formatUsd(value);
  return name === 'duration_ms' ? formatDuration(value) : formatCount(value);
}

function signed(name: ComparedFigure['name'], value: number): string {
  if (value === 0) return 'same';
  return `${value > 0 ? '+' : '−'}${shown(name, Math.abs(value))}`;
}
