/** The tools of one server as it last listed them, and their refresh. */
import { diag } from '@opentelemetry/api';
import { isObject } from '../json/index.ts';
import { isEmptyList } from './envelope.ts';
import type { CallableTool, RejectedTool } from './types.ts';

/** Reads tools one by one, so that one bad definition costs only that tool; the SDKs refuse the whole list. */
export class ServerTools {
  readonly #server: string;
  #tools: readonly CallableTool[] = [];
  #byName: ReadonlyMap<string, CallableTool> = new Map();
  #rejected: readonly RejectedTool[] = [];

  constructor(server: string) {
    this.#server = server;
  }

  /** The usable tools; the same array until the list is read again. */
  get tools(): readonly CallableTool[] {
    return this.#tools;
  }

  /** Listed by the server, but not usable. */
  get rejected(): readonly RejectedTool[] {
    return this.#rejected;
  }

  find(name: string): CallableTool | undefined {
    return this.#byName.get(name);
  }

  /** Takes over what the server lists now. */
  replace(listed: readonly unknown[]): void {
    const byName = new Map<string, CallableTool>();
    const rejected: RejectedTool[] = [];
    for (const raw of listed) {
      const tool = readTool(raw);
      if ('reason' in tool) rejected.push(tool as RejectedTool);
      else if (byName.has(tool.name))
        rejected.push({ name: tool.name, reason: 'the server lists another tool with this name' });
      else byName.set(tool.name, tool as CallableTool);
    }
    this.#byName = byName;
    this.#tools = [...byName.values()];
    this.#rejected = rejected;
    for (const { name, reason } of rejected)
      diag.warn(`mcp-observatory: tool "${name}" of server "${this.#server}" is left out: ${reason}`);
  }
}

/** Whether a tool says nothing of its arguments; PHP writes an empty object as an empty list. */
export function isMissingSchema(inputSchema: unknown): boolean {
  return inputSchema === undefined || inputSchema === null || isEmptyList(inputSchema);
}

function readTool(raw: unknown): CallableTool | RejectedTool {
  if (!isObject(raw)) return { name: '', reason: 'the entry is not an object' };
  const { name, inputSchema, outputSchema } = raw;
  if (typeof name !== 'string' || name === '') return { name: '', reason: 'the entry has no name' };
  // In practice a missing schema means no arguments; a tool with a schema of another type cannot be called.
  if (!isMissingSchema(inputSchema) && !isObject(inputSchema)) {
    return {
      name,
      reason: `"inputSchema" is not an object but ${JSON.stringify(inputSchema)?.slice(0, 40)}`,
    };
  }
  const { outputSchema: _output, description, title, annotations, ...rest } = raw;
  return {
    ...rest,
    name,
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    inputSchema: isObject(inputSchema) ? inputSchema : { type: 'object' },
    ...((isObject(outputSchema) || typeof outputSchema === 'boolean') && { outputSchema }),
    ...(isObject(annotations) && { annotations }),
  };
}

/** Reads the tools of a server again when it announces that they changed, one refresh at a time. */
export class ToolRefresh {
  readonly #server: string;
  readonly #refresh: () => Promise<void>;
  #inProgress: Promise<void> | undefined;
  #again = false;

  constructor(server: string, refresh: () => Promise<void>) {
    this.#server = server;
    this.#refresh = refresh;
  }

  get isInProgress(): boolean {
    return this.#inProgress !== undefined;
  }

  /** Resolves when every announced change has been read, or could not be. Never rejects. */
  async settled(): Promise<void> {
    while (this.#inProgress !== undefined) await this.#inProgress;
  }

  /** Starts a refresh. Changes announced during one are read by a single further refresh. */
  schedule(): void {
    if (this.#inProgress !== undefined) {
      this.#again = true;
      return;
    }
    this.#inProgress = this.#refresh()
      .catch((error: unknown) =>
        diag.warn(`mcp-observatory: reading the changed tools of "${this.#server}" failed`, error),
      )
      .finally(() => {
        this.#inProgress = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.schedule();
      });
  }
}
