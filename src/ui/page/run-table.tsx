import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../explain/units.ts';
import type { RunList, RunRow, ShapePart } from '../store/index.ts';
import { Count, Duration, Empty, Icon, type Status, Tag, Time, Usd } from './parts.tsx';
import { here, link, type Route } from './route.ts';
import { Start } from './start.tsx';

/** Runs with what they did over their time. */
export type Listed = RunList & { readonly shapes: Readonly<Record<string, readonly ShapePart[]>> };

interface RunTableProps {
  readonly list: Listed;
  readonly route: Route;
  readonly hasFilter: boolean;
  readonly total: number | undefined;
  readonly onMore: () => void;
}

/** The runs, newest first. */
export function RunTable({ list, route, hasFilter, total, onMore }: RunTableProps) {
  const { runs, shapes, next } = list;
  const [selected, setSelected] = useState(0);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
        return;
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === 'j') setSelected((i) => Math.min(runs.length - 1, i + 1));
      else if (event.key === 'k') setSelected((i) => Math.max(0, i - 1));
      else if (event.key === 'Enter' && event.target === document.body) {
        const run = runs[selected];
        if (run !== undefined) location.hash = link(`run/${run.id}`);
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [runs, selected]);
  if (runs.length === 0) {
    if (!hasFilter) return <Start />;
    const words = (route.query.get('q') ?? '').split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/);
    return (
      <Empty title="No run matches">
        <p>One of the terms may be too narrow, or the range too short.</p>
        <p class="btns">
          {words.map((word) => (
            <a
              key={word}
              class="btn"
              href={here(route, { q: words.filter((other) => other !== word).join(' ') })}
            >
              remove <code>{word}</code>
            </a>
          ))}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <div class="scroll">
        <table class="tbl runs">
          <thead>
            <tr>
              <th class="c-s">
                <span class="vh">Status</span>
              </th>
              <th class="c-t">Started</th>
              <th>Run</th>
              <th class="c-c">Client, user</th>
              <th class="c-h">Shape</th>
              <th class="num c-k">Calls</th>
              <th class="num c-f">Failed</th>
              <th class="num c-d">Duration</th>
              <th class="num c-m">Cost</th>
              <th class="c-o">What stands out</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run, i) => (
              <Row key={run.id} run={run} parts={shapes[run.id] ?? []} isSelected={i === selected} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="foot">
        {runs.length}
        {total !== undefined && total > runs.length ? ` of ${formatCount(total)}` : ''}{' '}
        {runs.length === 1 ? 'run' : 'runs'}.{' '}
        {next !== null && (
          <button type="button" class="lnk" onClick={onMore}>
            Show more
          </button>
        )}
        <span class="legend">
          Shape: <i class="k m" />
          model <i class="k t" />
          tool <i class="k w" />
          held <i class="k e" />
          failed or denied
        </span>
      </p>
    </>
  );
}

export function statusOf(run: RunRow): Status {
  if (run.failedCalls > run.denied || (run.errors > 0 && run.denied === 0)) return 'failed';
  if (run.denied > 0) return 'denied';
  return run.held > 0 ? 'held' : 'ok';
}

function Row({ run, parts, isSelected }: { run: RunRow; parts: readonly ShapePart[]; isSelected: boolean }) {
  const address = link(`run/${run.id}`);
  const status = statusOf(run);
  return (
    <tr
      data-run={run.id}
      aria-current={isSelected ? 'true' : undefined}
      onClick={() => {
        location.hash = address;
      }}
    >
      <td class="c-s">
        <span title={status}>
          <Icon name={status} />
          <span class="vh">{status}</span>
        </span>
      </td>
      <td class="c-t">
        <Time ms={run.startMs} />
      </td>
      <td class="c-n">
        <a href={address}>{run.name}</a>
      </td>
      <td class="c-c">
        {run.client ?? run.service}
        <span class="sub"> {run.user}</span>
      </td>
      <td class="c-h">
        <Shape run={run} parts={parts} />
      </td>
      <td class="num c-k">
        <Count of={run.toolCalls} />
      </td>
      <td class="num c-f neg">{run.failedCalls > 0 ? <Count of={run.failedCalls} /> : ''}</td>
      <td class="num c-d">
        <Duration ms={run.endMs - run.startMs} />
      </td>
      <td class="num c-m">{run.costUsd === null && run.unpriced === 0 ? '' : <Usd of={run.costUsd} />}</td>
      <td class="c-o">
        <Findings run={run} />
      </td>
    </tr>
  );
}

/** At most two findings, the weightiest first. */
function Findings({ run }: { run: RunRow }) {
  const found = [
    run.held > 0 && (
      <Tag key="held" status="held">
        held
      </Tag>
    ),
    run.contradicted && (
      <Tag key="contradicted" status="contradicted">
        answer contradicted
      </Tag>
    ),
    run.unsupported && !run.contradicted && (
      <Tag key="unsupported" status="unsupported">
        answer unsupported
      </Tag>
    ),
    run.failedCalls > run.denied && (
      <span key="failed">
        <Tag status="failed" /> <b>{run.failedTools[0]}</b>
      </span>
    ),
    run.denied > 0 && <Tag key="denied" status="denied" />,
    run.errors > 0 && run.failedCalls === 0 && run.denied === 0 && (
      <Tag key="error" status="failed">
        error
      </Tag>
    ),
    run.isShadow && (
      <span key="shadow" class="tag">
        shadow
      </span>
    ),
  ].filter(Boolean);
  return <>{found.slice(0, 2)}</>;
}

const LOOK = {
  model: { y: 5, height: 4, class: 'h-m' },
  tool: { y: 2, height: 10, class: 'h-t' },
  held: { y: 5, height: 4, class: 'h-w' },
  failed: { y: 0, height: 14, class: 'h-e' },
};

/** The run over its time: slow because it waited, failed at the end, a loop. */
function Shape({ run, parts }: { run: RunRow; parts: readonly ShapePart[] }) {
  const all = Math.max(1, run.endMs - run.startMs);
  return (
    <svg class="shape" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
      {parts.map((part, i) => {
        const { class: look, y, height } = LOOK[part.kind];
        const x = (100 * (part.startMs - run.startMs)) / all;
        const width = Math.max(1.1, (100 * (part.endMs - part.startMs)) / all);
        return <rect key={i} x={Math.min(98.9, x)} y={y} width={width} height={height} class={look} />;
      })}
    </svg>
  );
}
