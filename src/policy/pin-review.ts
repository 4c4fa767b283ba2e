/** What servers list, against the pins: what a person has to look at before it is approved. */
import { canonicalHash, type Difference, differencesBetween } from '../json/index.ts';
import type { ToolDefinition } from '../mcp-client/index.ts';
import { ToolCatalog } from './catalog.ts';
import type { PinStore } from './pins.ts';
import type { ReasonCode } from './reasons/index.ts';
import type { ToolsByServer } from './tool-definition.ts';

/** `refused`: the definition cannot be used, even if approved. `gone`: pinned, and no longer listed. */
export type PinStatus = 'approved' | 'new' | 'changed' | 'refused' | 'gone';

export interface PinFinding {
  readonly server: string;
  readonly tool: string;
  readonly status: PinStatus;
  /** SHA-256 of the definition as it is listed now; empty for `refused` and `gone`. */
  readonly hash: string;
  /** Why it is refused. */
  readonly message?: string;
  readonly definition?: ToolDefinition;
  /** What differs from the approved definition, or the whole of a new one: 50 places at most. */
  readonly differences: readonly Difference[];
}

/** The reasons for which a definition is barred, and how each compares with its pin. */
export const BARRED_AS = {
  tool_changed: 'changed',
  tool_unapproved: 'new',
  tool_invalid: 'refused',
  tool_schema_refused: 'refused',
  tool_duplicate: 'refused',
} as const satisfies Partial<Record<ReasonCode, PinStatus>>;

const STATUS: Readonly<Partial<Record<string, PinStatus>>> = BARRED_AS;

/** Compares the tools of servers with their pins, in the order in which they are listed. */
export function reviewPins(pins: PinStore, tools: ToolsByServer): readonly PinFinding[] {
  return Object.entries(tools).flatMap(([server, listing]) => {
    // One catalog per server: what else is connected makes no difference to a definition.
    const catalog = new ToolCatalog({ pins });
    catalog.setServer(server, listing.tools);
    const listed = catalog.tools().map(({ name, barred, hash, definition }): PinFinding => {
      const status = barred === undefined ? 'approved' : (STATUS[barred.reasonCode] ?? 'refused');
      const base = { server, tool: name, status, definition, differences: [] };
      if (status === 'refused') return { ...base, hash: '', message: barred?.message ?? '' };
      if (status === 'approved') return { ...base, hash };
      const approved = status === 'new' ? {} : (pins.approvedDefinition(server, name) ?? {});
      return { ...base, hash, differences: differencesBetween(approved, definition) };
    });
    const names = new Set(listed.map(({ tool }) => tool));
    const gone = pins.toolsOf(server).filter((tool) => !names.has(tool));
    return [
      ...listed,
      ...gone.map((tool) => ({ server, tool, status: 'gone', hash: '', differences: [] }) as const),
    ];
  });
}

export function pending(findings: readonly PinFinding[]): readonly PinFinding[] {
  return findings.filter(({ status }) => status === 'new' || status === 'changed');
}

/** Names exactly these findings, so that what is approved is what was looked at. 32 hex digits. */
export function reviewDigest(findings: readonly PinFinding[]): string {
  return canonicalHash(pending(findings).map(({ server, tool, hash }) => [server, tool, hash])).slice(0, 32);
}

/** Pins what is new or changed, on a person's word. */
export function approvePins(pins: PinStore, findings: readonly PinFinding[]): void {
  for (const { server, tool, hash, definition } of pending(findings))
    pins.approve(server, tool, hash, definition);
}
