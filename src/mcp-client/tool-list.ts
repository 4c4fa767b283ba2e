/**
 * The one reader of `tools/list`, for the orchestrator, `PolicyHost` and `gateClient`. Whatever a server does, the
 * listing ends: pages, tools, bytes and time are bounded for the list as a whole.
 */
import { kinds, ObservatoryError, type OptionKinds, sliced } from '../base/index.ts';
import { isObject, toJsonText } from '../json/index.ts';
import { Deadline, withOwnSignal } from './deadline.ts';

/** Bounds on the tool list of one server. A list that exceeds one is refused as a whole. */
export interface ToolListLimits {
  /** Most pages. @defaultValue 64 */
  readonly maxToolPages?: number | undefined;
  /** Most tools. @defaultValue 10000 */
  readonly maxTools?: number | undefined;
  /** Most bytes of all tool definitions together, as JSON. @defaultValue 16 MiB */
  readonly maxToolListBytes?: number | undefined;
  /** Longest time for all pages together, in milliseconds. @defaultValue 30000 */
  readonly toolListTimeoutMs?: number | undefined;
}

export const LIST_KINDS: OptionKinds<ToolListLimits> = {
  maxToolPages: kinds.number,
  maxTools: kinds.number,
  maxToolListBytes: kinds.number,
  toolListTimeoutMs: kinds.number,
};

const DEFAULT_LIMITS: { readonly [L in keyof ToolListLimits]-?: number } = {
  maxToolPages: 64,
  maxTools: 10_000,
  maxToolListBytes: 16 * 1024 * 1024,
  toolListTimeoutMs: 30_000,
};

const EXCEEDED: { readonly [L in keyof ToolListLimits]-?: (limit: number) => string } = {
  maxToolPages: (limit) => `does not end within ${limit} pages`,
  maxTools: (limit) => `has more than ${limit} tools`,
  maxToolListBytes: (limit) => `has more than ${limit} bytes`,
  toolListTimeoutMs: (limit) => `was not complete after ${limit} ms`,
};

/** A tool list that was refused because it exceeds a bound; none of its tools is used. */
export class ToolListError extends ObservatoryError {
  /** Name of the server in the config or policy. */
  readonly server: string;
  /** Option that holds the bound. */
  readonly bound: keyof ToolListLimits;
  readonly limit: number;

  constructor(server: string, bound: keyof ToolListLimits, limit: number) {
    super(
      'TOOL_LIST_REFUSED',
      `Server "${server}": its tool list ${EXCEEDED[bound](limit)}; make the server list less, or raise \`${bound}\`.`,
    );
    this.name = 'ToolListError';
    this.server = server;
    this.bound = bound;
    this.limit = limit;
  }
}

/**
 * Reads all pages of a server's tool list.
 *
 * @param server Name for error messages.
 * @param readPage Sends `tools/list` with a cursor. A promise that outlives its signal is abandoned.
 * @param signals Each of them aborts the listing.
 * @returns The tools as the server sent them, unchecked.
 * @throws ToolListError when a bound is exceeded; ObservatoryError `TOOL_LIST_REFUSED` when an answer has no list or a
 *   cursor comes twice; the reason of `readPage` otherwise.
 */
export async function readToolList(
  server: string,
  readPage: (cursor: string | undefined, signal: AbortSignal) => Promise<unknown>,
  limits: ToolListLimits = {},
  ...signals: readonly (AbortSignal | undefined)[]
): Promise<readonly unknown[]> {
  const toLimit = (bound: keyof ToolListLimits): number => limits[bound] ?? DEFAULT_LIMITS[bound];
  const exceeded = (bound: keyof ToolListLimits) => new ToolListError(server, bound, toLimit(bound));
  const deadline = new Deadline(toLimit('toolListTimeoutMs'), signals);
  const tools: unknown[] = [];
  const cursors = new Set<string>();
  const texts = new Set<string>();
  const turn = sliced();
  let bytes = 0;
  let cursor: string | undefined;
  try {
    for (let page = 0; page < toLimit('maxToolPages'); page += 1) {
      const from = cursor;
      const result = await withOwnSignal(deadline.signal, (own) => readPage(from, own)).catch((error) => {
        // Many servers that say '' have no page behind it.
        if (from !== '' || deadline.signal.aborted) throw error;
        return { tools: [] };
      });
      if (!isObject(result) || !Array.isArray(result.tools)) {
        throw refused(server, 'answered tools/list without a list of tools; update or repair the server');
      }
      if (tools.length + result.tools.length > toLimit('maxTools')) throw exceeded('maxTools');
      const listed: unknown[] = [];
      let isRepeated = page > 0 && result.tools.length > 0;
      for (const tool of result.tools as unknown[]) {
        bytes += measureText(toJsonText(tool));
        await turn();
        if (bytes > toLimit('maxToolListBytes')) throw exceeded('maxToolListBytes');
        // The same definition again is the same tool.
        const text = toJsonText(isObject(tool) ? { ...tool, _meta: undefined } : tool);
        const isKnown = text !== undefined && texts.has(text);
        if (!isKnown) listed.push(tool);
        isRepeated &&= isKnown;
        if (text !== undefined) texts.add(text);
      }
      // Some servers give their only page again and again.
      if (isRepeated) return tools;
      tools.push(...listed);
      const { nextCursor } = result;
      if (typeof nextCursor !== 'string') return tools;
      if (cursors.has(nextCursor)) {
        if (nextCursor === '') return tools;
        throw refused(server, 'gave the same cursor twice, so its tool list does not end; repair the server');
      }
      bytes += nextCursor.length;
      cursors.add(nextCursor);
      cursor = nextCursor;
    }
    throw exceeded('maxToolPages');
  } catch (error) {
    throw deadline.passed ? exceeded('toolListTimeoutMs') : error;
  } finally {
    deadline.clear();
  }
}

/** Bytes of JSON. What has no text (a cycle, too deep a nesting) exceeds every bound. */
function measureText(text: string | undefined): number {
  return text === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(text);
}

function refused(server: string, what: string): ObservatoryError {
  return new ObservatoryError('TOOL_LIST_REFUSED', `Server "${server}" ${what}.`);
}
