import { listHighlights, type RunRow, type ShapePart } from '../../runs/index.ts';
import { Labels } from './notes.tsx';
import { Count, Duration, Icon, Tag, Time, Usd } from './parts.tsx';
import { link } from './route.ts';

interface RowProps {
  readonly run: RunRow;
  readonly parts: readonly ShapePart[];
  readonly isSelected: boolean;
  /** Shows the model where the client is known from elsewhere. */
  readonly hasModel?: boolean;
}

/** One run of a list. */
export function Row({ run, parts, isSelected, hasModel = false }: RowProps) {
  const address = link(`run/${run.id}`);
  const { status } = run;
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
        <Time ms={run.startMs} isPast />
      </td>
      <td class="c-n">
        <a href={address}>{run.name}</a>
      </td>
      <td class="c-c">
        {hasModel ? (
          <span class="sub mono">{run.models.join(', ')}</span>
        ) : (
          <>
            {run.client ?? run.service}
            <span class="sub"> {run.user}</span>
          </>
        )}
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
        <div class="outs">
          <Findings run={run} />
          <Labels labels={run.labels.slice(0, 2)} />
        </div>
      </td>
    </tr>
  );
}

/** At most two findings, the weightiest first. */
function Findings({ run }: { run: RunRow }) {
  return (
    <>
      {listHighlights(run)
        .slice(0, 2)
        .map(({ kind, text }) =>
          kind === 'shadow' ? (
            <span key={kind} class="tag">
              {text}
            </span>
          ) : (
            <Tag key={kind} status={kind}>
              {text}
            </Tag>
          ),
        )}
    </>
  );
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
