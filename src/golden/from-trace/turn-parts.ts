import type { StoredTurn } from './stored-run.ts';

export interface StoredToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, or what the model wrote in its place. */
  readonly argumentsText: string;
}

/** The visible text of a turn. */
export function textOf({ output }: StoredTurn): string {
  return (output?.parts ?? []).map((part) => (part.type === 'text' ? part.content : '')).join('');
}

/** The calls of a turn. */
export function callsOf({ output }: StoredTurn): StoredToolCall[] {
  return (output?.parts ?? []).flatMap((part, index) => {
    if (part.type !== 'tool_call') return [];
    const { id = `call_${index}`, name = '', arguments: args = {} } = part;
    return [{ id, name, argumentsText: typeof args === 'string' ? args : JSON.stringify(args) }];
  });
}
