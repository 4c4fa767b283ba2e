import { filterValue, formatCount, formatCounted, type TaxReport, type ToolRow } from '../../runs/index.ts';
import { Duration, Usd } from './parts.tsx';
import { WholeHours } from './range.tsx';
import { type Route, readRows } from './route.ts';

/** Fewer calls say nothing of a tool. */
const MIN_CALLS = 10;

interface SentenceProps {
  readonly tools: readonly ToolRow[];
  readonly tax: TaxReport;
  readonly route: Route;
}

/** The tools of a range in one sentence. */
export function ToolsSentence({ tools, tax, route }: SentenceProps) {
  const calls = tools.reduce((sum, tool) => sum + tool.calls, 0);
  const errors = tools.reduce((sum, tool) => sum + tool.errors, 0);
  const worst = tools
    .filter(({ errors: n, calls: of }) => n > 0 && of >= MIN_CALLS)
    .sort((a, b) => b.errors / b.calls - a.errors / a.calls)[0];
  const slowest = tools
    .filter(({ calls: n }) => n >= MIN_CALLS)
    .sort((a, b) => (b.p95Ms ?? 0) - (a.p95Ms ?? 0))[0];
  return (
    <>
      <b>{formatCounted(calls, 'call')}</b> of {formatCounted(tools.length, 'tool')}{' '}
      <WholeHours route={route} />, {formatCount(errors)} failed
      {worst !== undefined && (
        <>
          ; most failing: <a href={readRows(route, `failed:${filterValue(worst.tool)}`)}>{worst.tool}</a> (
          {percent(worst.errors / worst.calls)})
        </>
      )}
      {tax.tokens > 0 && (
        <>
          ; definitions took <b>{formatCounted(tax.tokens, 'token')}</b>
          {tax.costUsd > 0 && (
            <>
              {' '}
              (<Usd of={tax.costUsd} />)
            </>
          )}
        </>
      )}
      {slowest?.p95Ms != null && (
        <>
          ; slowest: <a href={readRows(route, `tool:${filterValue(slowest.tool)}`)}>{slowest.tool}</a> (p95{' '}
          <Duration ms={slowest.p95Ms} />)
        </>
      )}
      .
    </>
  );
}

export const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
