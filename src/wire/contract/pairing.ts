import { createHash } from 'node:crypto';
import {
  listToolCalls,
  type ModelMessage,
  type TextPart,
  type ToolCallPart,
  type ToolMessage,
  type ToolResultPart,
  type UserMessage,
} from './conversation.ts';

/**
 * Makes every tool call have exactly one result right after it, in the order of the calls.
 *
 * All three providers refuse a whole conversation for one call without its result, or one result without its call:
 * a missing result is filled in as a failed one, and a result nobody asked for becomes plain user text.
 */
export function pairCallsWithResults(messages: readonly ModelMessage[]): ModelMessage[] {
  const paired: ModelMessage[] = [];
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as ModelMessage;
    if (message.role === 'tool') {
      paired.push(...strayText(message.parts));
      continue;
    }
    paired.push(message);
    if (message.role !== 'assistant') continue;
    const calls = listToolCalls(message);
    if (calls.length === 0) continue;
    const results: ToolResultPart[] = [];
    while (messages[index + 1]?.role === 'tool') {
      index += 1;
      results.push(...(messages[index] as ToolMessage).parts);
    }
    const { matched, stray } = match(calls, results);
    paired.push({ role: 'tool', parts: matched }, ...strayText(stray));
  }
  return paired;
}

function match(
  calls: readonly ToolCallPart[],
  results: readonly ToolResultPart[],
): { matched: ToolResultPart[]; stray: ToolResultPart[] } {
  const byId = new Map<string, ToolResultPart[]>();
  for (const result of results) {
    const queue = byId.get(result.id);
    if (queue === undefined) byId.set(result.id, [result]);
    else queue.push(result);
  }
  const matched = calls.map((call): ToolResultPart => {
    const result = byId.get(call.id)?.shift() ?? skippedResult(call);
    return result.idAssigned === call.idAssigned ? result : { ...result, idAssigned: call.idAssigned };
  });
  return { matched, stray: [...byId.values()].flat() };
}

/** The result of a call that was never run. */
function skippedResult(call: ToolCallPart): ToolResultPart {
  return {
    type: 'tool_result',
    id: call.id,
    name: call.name,
    content: [{ type: 'text', text: 'This call was not run.' }],
    isError: true,
    ...(call.idAssigned === true ? { idAssigned: true } : {}),
  };
}

function strayText(results: readonly ToolResultPart[]): UserMessage[] {
  const parts = results.flatMap((result) => [
    { type: 'text', text: `Result of ${result.name}:` } satisfies TextPart,
    ...result.content,
  ]);
  return parts.length === 0 ? [] : [{ role: 'user', parts }];
}

const SAFE_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/** A call id every provider accepts (a history may come from another one): itself when it fits, else a hash of it. */
export function wireCallId(id: string): string {
  return SAFE_ID.test(id) ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;
}
