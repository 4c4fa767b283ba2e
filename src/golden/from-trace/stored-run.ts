import type { Message } from '../../interaction/index.ts';
import { canonicalJson } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';

/** A run of `mcpGhost`, read from its spans. Times are in milliseconds. */
export interface StoredRun {
  readonly traceId: string;
  /** Name for `createProvider`: `openai`, `anthropic`, `gemini`. */
  readonly provider: string;
  readonly model: string;
  readonly namespace: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly stopReason: string | undefined;
  readonly hasPlan: boolean;
  /** Whether recovery prompts followed failed calls. */
  readonly hasBacktracking: boolean;
  /** Whether every model call went to this machine: probably a script or a local model. */
  readonly isLocalModel: boolean;
  readonly turns: readonly StoredTurn[];
  /** Every tool call that reached a server, in order. */
  readonly calls: readonly StoredCall[];
  readonly tools: readonly StoredTool[];
}

export interface StoredTurn {
  /** Input messages, system messages first. */
  readonly input: readonly Message[];
  /** Output message; undefined if the call failed. */
  readonly output: Message | undefined;
  /** HTTP status or kind of the failure. */
  readonly errorType: string | undefined;
  readonly finishReason: string | undefined;
  readonly usage: TokenUsage | undefined;
  readonly model: string;
  readonly responseId: string | undefined;
  readonly durationMs: number;
}

export interface StoredCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The `CallToolResult`. */
  readonly result: Readonly<Record<string, unknown>>;
  /** Code of a JSON-RPC error, where the server answered with one. */
  readonly errorCode: number | undefined;
  readonly durationMs: number;
}

export interface StoredTool {
  readonly server: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** Takes the first call of a tool with these arguments out of a list. */
export function takeCall(
  left: StoredCall[],
  server: string,
  tool: string,
  args: unknown,
): StoredCall | undefined {
  const wanted = canonicalJson(args ?? {});
  const at = left.findIndex(
    (call) => call.server === server && call.tool === tool && canonicalJson(call.arguments) === wanted,
  );
  return at < 0 ? undefined : left.splice(at, 1)[0];
}
