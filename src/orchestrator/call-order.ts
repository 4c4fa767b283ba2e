import type { Catalogue, CatalogueTool } from './catalogue.ts';
import type { ToolCallPart } from './providers/index.ts';

/**
 * Starts the calls of one turn side by side. A tool that says it is destructive runs alone on its server, after the
 * calls before it and before the calls after it.
 * @returns what each call comes to, in the order of the calls.
 */
export function inOrder<T>(
  calls: readonly ToolCallPart[],
  catalogue: Catalogue,
  run: (call: ToolCallPart, tool: CatalogueTool | undefined) => Promise<T>,
): Promise<T>[] {
  const barrier = new Map<string, Promise<unknown>>();
  const running = new Map<string, Promise<unknown>[]>();
  return calls.map((call) => {
    const tool = catalogue.find(call.name);
    const server = tool?.server ?? '';
    const alone = tool?.tool.annotations?.destructiveHint === true;
    const before = alone
      ? Promise.all(running.get(server) ?? [])
      : (barrier.get(server) ?? Promise.resolve());
    const report = before.then(() => run(call, tool));
    // A rejection is for whoever waits for the report; here it only must not go unhandled.
    const settled = report.catch(() => undefined);
    running.set(server, [...(alone ? [] : (running.get(server) ?? [])), settled]);
    if (alone) barrier.set(server, settled);
    return report;
  });
}
