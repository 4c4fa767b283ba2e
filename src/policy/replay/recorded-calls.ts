/** The calls of a trace, for those who decide them by other policies or learn from them. */
import { isObject } from '../../json/index.ts';
import type { RecordedCall } from '../learn/index.ts';
import { readTrace } from './read-trace.ts';

/**
 * The tool calls that a trace (`run-*.jsonl`) decided, with their results.
 * @param key the key of the trail, where it has one.
 * @returns `missing` counts the calls that were recorded without their arguments.
 * @throws ObservatoryError `INVALID_INPUT` as `replayTrace` does.
 */
export async function readRecordedCalls(
  path: string,
  key: string | undefined,
): Promise<{ readonly calls: readonly RecordedCall[]; readonly missing: number }> {
  const calls = new Map<number, RecordedCall>();
  const definitions = new Map<string, unknown>();
  let missing = 0;
  for await (const { seq, event, fields, content } of readTrace(path, key)) {
    for (const [name, value] of Object.entries(content?.grounds ?? {})) definitions.set(name, value);
    if (event === 'call_decided' && fields.method === undefined) {
      const { server, tool, decision, enforcement } = fields;
      const args = content?.data.args;
      if (!isObject(args)) {
        missing += 1;
        continue;
      }
      const request = content?.data.user_request;
      const definition = findDefinition(definitions.get(`${server}/${tool}`), String(server));
      calls.set(seq, {
        ...{ server: String(server), tool: String(tool), args, run: String(fields.run_id) },
        ...(typeof request === 'string' ? { request } : {}),
        ...(definition === undefined ? {} : { definition }),
        wasMade: decision === 'allow' || enforcement === 'shadow',
      });
    }
    const call = event === 'call_finished' ? calls.get(Number(fields.decided)) : undefined;
    if (call !== undefined && content !== undefined)
      calls.set(Number(fields.decided), { ...call, result: content.data.result });
  }
  return { calls: [...calls.values()], missing };
}

function findDefinition(listing: unknown, server: string): RecordedCall['definition'] {
  const listed = isObject(listing) ? listing[server] : undefined;
  const [tool] = isObject(listed) && Array.isArray(listed.tools) ? listed.tools : [];
  return isObject(tool) ? (tool as unknown as RecordedCall['definition']) : undefined;
}
