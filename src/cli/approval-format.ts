import { cleanPreview } from '../approvals/index.ts';
import { snakeKeys } from '../base/index.ts';
import type { WaitingDetail, WaitingLists, WaitingRow } from '../runs/index.ts';
import { printableLine } from './terminal/index.ts';

/** Longest arguments that are shown. They are bounded where they are stored. */
const MAX_SHOWN_CHARS = 2_000_000;

/** Approvals as a wire document: times are ISO 8601 UTC. */
export function approvalJson(value: WaitingLists | WaitingDetail): object {
  if ('id' in value) return oneJson(value);
  const { open, standing, decided } = value;
  return { open: open.map(oneJson), standing: standing.map(oneJson), decided: decided.map(oneJson) };
}

function oneJson(row: WaitingRow): object {
  const entries = Object.entries(row).map(([name, value]) =>
    name.endsWith('Ms') ? [`${name.slice(0, -2)}At`, timeOf(value as number | null)] : [name, value],
  );
  const { content, ...rest } = Object.fromEntries(entries) as Record<string, unknown>;
  return { ...snakeKeys(rest), ...(typeof content === 'string' ? { arguments: JSON.parse(content) } : {}) };
}

const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** Three lists as text. */
export function formatApprovals({ open, standing, decided }: WaitingLists): string {
  const part = (title: string, rows: readonly WaitingRow[]) => [
    ...(rows.length === 0 ? [] : ['', title]),
    ...rows.map(lineOf),
  ];
  return [
    open.length === 0 ? 'Nothing waits' : `${open.length} waiting`,
    ...open.map(lineOf),
    ...part('Approved for more than one call', standing),
    ...part('Decided', decided),
  ].join('\n');
}

function lineOf({
  id,
  status,
  createdMs,
  server,
  tool,
  caller,
  decidedBy,
  scope,
  standsMs,
}: WaitingRow): string {
  const reach = scope === null ? '' : `for ${scope}`;
  const until = standsMs === null ? '' : `until ${timeOf(standsMs)}`;
  return [
    id,
    status.padEnd(8),
    timeOf(createdMs) ?? '',
    `${server ?? '-'}/${tool ?? '-'}`,
    `asked by ${caller ?? 'nobody named'}`,
    [decidedBy ?? '', reach, until].filter((text) => text !== '').join(' '),
  ]
    .map((text) => printableLine(cleanPreview(text)))
    .join('  ')
    .trimEnd();
}

/** One with its arguments. Text of callers is shown without characters that can disguise it. */
export function formatApproval(row: WaitingDetail): string {
  const { arguments: _, ...facts } = approvalJson(row) as Record<string, unknown>;
  const lines = Object.entries(facts)
    .filter(([, value]) => value !== null && (!Array.isArray(value) || value.length > 0))
    .map(([name, value]) => {
      const text = Array.isArray(value) ? value.join(', ') : String(value);
      return `${name.padEnd(16)} ${printableLine(cleanPreview(text))}`;
    });
  return [...lines, 'arguments', cleanPreview(row.content, MAX_SHOWN_CHARS).replace(/^/gmu, '  ')].join('\n');
}
