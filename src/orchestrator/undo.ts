/** Compensation: what undoes a call, as the host or the tool itself names it. Offered; never automatic without a policy. */
import { invalidOption } from '../base/index.ts';
import { isObject, type JsonObject } from '../json/index.ts';
import { valueAt } from './declared-plan.ts';

/** The call that undoes another. Arguments are values, `$arguments.path` or `$result.path` of the call. */
export interface UndoCall {
  /** `server.tool`; in a tool's `_meta`, a tool of the same server. */
  readonly tool: string;
  readonly arguments?: JsonObject | undefined;
}

export interface UndoOptions {
  /** The undo of tools, by `server.tool`. It goes before what a tool names itself. */
  readonly tools?: Readonly<Record<string, UndoCall>> | undefined;
  /**
   * Undo what was done, last call first, when the run does not succeed. Needs `gate`, whose policy decides each of these
   * calls. @defaultValue false: the result only offers them
   */
  readonly automatic?: boolean | undefined;
}

/** A step that can be undone. */
export interface OfferedUndo {
  /** Position in the chain of the call to undo. */
  readonly step: number;
  readonly toolName: string;
  readonly arguments: JsonObject;
  /** Whether it was undone; null when nobody tried. */
  readonly done: boolean | null;
}

/** A call of the chain, as far as it tells how to undo it. */
interface MadeCall {
  readonly toolName: string;
  readonly success: boolean;
  readonly cached: boolean;
  readonly arguments: JsonObject;
  readonly result: unknown;
}

type FindTool = (toolName: string) => { readonly server: string; readonly tool: JsonObject } | undefined;

/** Key in a tool's `_meta` under which it names its undo. */
const UNDO_META = 'mcp-observatory.dev/undo';

/** @throws ObservatoryError `INVALID_OPTION`. */
export function checkUndo(undo: unknown, hasGate: boolean): void {
  if (undo === undefined) return;
  if (!isObject(undo)) throw invalidOption('`undo`', 'an object', undo);
  if (undo.automatic === true && !hasGate) {
    throw invalidOption(
      '`undo.automatic`',
      'given together with `gate`, whose policy decides the calls',
      true,
    );
  }
  for (const [name, call] of Object.entries((undo.tools ?? {}) as JsonObject)) {
    if (readUndo(call) === undefined)
      throw invalidOption(`\`undo.tools["${name}"]\``, '{ tool, arguments? }', call);
  }
}

function readUndo(value: unknown): UndoCall | undefined {
  if (!isObject(value) || typeof value.tool !== 'string') return undefined;
  if (value.arguments !== undefined && !isObject(value.arguments)) return undefined;
  return value as unknown as UndoCall;
}

/** What can be undone of a chain, last call first. */
export function undoable(
  chain: readonly MadeCall[],
  find: FindTool,
  { tools = {} }: UndoOptions = {},
): OfferedUndo[] {
  const offered = chain.flatMap((entry, step): OfferedUndo[] => {
    if (!entry.success || entry.cached) return [];
    const given = Object.hasOwn(tools, entry.toolName) ? tools[entry.toolName] : undefined;
    const tool = find(entry.toolName);
    const own = readUndo((tool?.tool._meta as JsonObject | undefined)?.[UNDO_META]);
    const undo = given ?? (own && tool && { ...own, tool: `${tool.server}.${own.tool}` });
    if (undo === undefined) return [];
    const args = Object.entries(undo.arguments ?? {}).map(([name, value]) => [name, filled(value, entry)]);
    return [{ step, toolName: undo.tool, arguments: Object.fromEntries(args), done: null }];
  });
  return offered.reverse();
}

function filled(value: unknown, { arguments: args, result }: MadeCall): unknown {
  if (typeof value !== 'string') return value;
  const [, source, path] = /^\$(arguments|result)(?:\.(.*))?$/.exec(value) ?? [];
  if (source === undefined) return value;
  return valueAt(source === 'arguments' ? args : result, path ?? '');
}
