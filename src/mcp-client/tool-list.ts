import { isObject } from '../json/index.ts';
import { withOwnSignal } from './own-signal.ts';
import type { McpSession } from './session.ts';
import type { RejectedTool, ToolDefinition } from './types.ts';

export interface ToolList {
  readonly tools: readonly ToolDefinition[];
  /** Listed by the server, and not usable. */
  readonly rejected: readonly RejectedTool[];
  /** True when the server had more pages than were asked for. */
  readonly truncated: boolean;
}

export interface ToolListLimits {
  /** @defaultValue 64 */
  readonly maxPages?: number | undefined;
  /** @defaultValue 10000 */
  readonly maxTools?: number | undefined;
}

/**
 * Reads all pages of `tools/list`. Every tool is judged alone: the SDKs refuse a whole list when one schema in it
 * breaks the specification.
 */
export async function listAllTools(
  session: McpSession,
  signal: AbortSignal,
  limits: ToolListLimits = {},
): Promise<ToolList> {
  const tools = new Map<string, ToolDefinition>();
  const rejected: RejectedTool[] = [];
  const cursors = new Set<string>();
  const maxTools = limits.maxTools ?? 10_000;
  let cursor: string | undefined;
  for (let page = 0; page < (limits.maxPages ?? 64); page++) {
    const from = cursor;
    const result = await withOwnSignal(signal, (own) => session.listTools(from, { signal: own }));
    const listed = Array.isArray(result.tools) ? (result.tools as unknown[]) : [];
    for (const raw of listed) {
      if (tools.size + rejected.length >= maxTools)
        return { tools: [...tools.values()], rejected, truncated: true };
      const tool = readTool(raw);
      if ('reason' in tool) rejected.push(tool as RejectedTool);
      else if (tools.has(tool.name))
        rejected.push({ name: tool.name, reason: 'the server lists another tool with this name' });
      else tools.set(tool.name, tool as ToolDefinition);
    }
    const next = result.nextCursor;
    // A cursor seen before would be followed for ever.
    if (typeof next !== 'string' || cursors.has(next))
      return { tools: [...tools.values()], rejected, truncated: false };
    cursors.add(next);
    cursor = next;
  }
  return { tools: [...tools.values()], rejected, truncated: true };
}

function readTool(raw: unknown): ToolDefinition | RejectedTool {
  if (!isObject(raw)) return { name: '', reason: 'the entry is not an object' };
  const { name, inputSchema, outputSchema } = raw;
  if (typeof name !== 'string' || name === '') return { name: '', reason: 'the entry has no name' };
  // No arguments is what a missing schema means in practice; a schema of another kind cannot be called.
  if (inputSchema !== undefined && inputSchema !== null && !isObject(inputSchema)) {
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
    ...(isObject(outputSchema) && { outputSchema }),
    ...(isObject(annotations) && { annotations }),
  };
}
