import type { JsonObject } from '../json/index.ts';
import type { ToolCallOutcome, ToolDefinition, ToolResult } from '../mcp-client/index.ts';

/** A tool as a gate judges it. */
export interface GateTool {
  readonly server: string;
  readonly tool: ToolDefinition;
}

/**
 * A call as a gate judges it: the MCP names and the arguments that would be sent. `beforeCall` and `afterCall` of one
 * try get the same object.
 */
export interface GateCall extends GateTool {
  readonly arguments: JsonObject;
  /** Calls made in this run before this one. */
  readonly callIndex: number;
}

export type GateVerdict =
  | {
      readonly allowed: true;
      /** From `afterCall` only: shown and kept instead of the tool's own result. */
      readonly result?: ToolResult | undefined;
    }
  | {
      readonly allowed: false;
      /** Machine-readable reason. */
      readonly reasonCode: string;
      /** For people and the model. Holds no argument values. */
      readonly message: string;
    };

/**
 * Stands between the model and the tools. A method that throws or rejects denies: the gate fails closed.
 */
export interface ToolGate {
  /** Told what a server lists, all of it, before any of its tools is judged and again whenever that changed. */
  toolsListed?(server: string, tools: readonly ToolDefinition[]): void | Promise<void>;
  /** Whether the model is shown the tool. A tool that is not listed cannot be called either. */
  mayList(tool: GateTool): boolean | Promise<boolean>;
  /** Asked before each call reaches its server, retries included. */
  beforeCall(call: GateCall): GateVerdict | Promise<GateVerdict>;
  /**
   * Told how each call that was made ended, failures included, before anybody sees the result; what it denies is
   * withheld. @defaultValue every result passes
   */
  afterCall?(call: GateCall, outcome: ToolCallOutcome): GateVerdict | Promise<GateVerdict>;
}

/** The tools a gate lets a model see. */
export async function listableTools<T extends GateTool>(
  gate: ToolGate | undefined,
  tools: readonly T[],
): Promise<T[]> {
  if (gate === undefined) return [...tools];
  const listed: T[] = [];
  const unjudged = await tellListed(gate, tools);
  for (const tool of tools) {
    if (unjudged.has(tool.server)) continue;
    const may = await Promise.resolve()
      .then(() => gate.mayList(tool))
      .catch(() => false);
    if (may === true) listed.push(tool);
  }
  return listed;
}

/** Tells a gate what each server lists. @returns the servers whose tools it could not take in: they stay hidden. */
async function tellListed(gate: ToolGate, tools: readonly GateTool[]): Promise<ReadonlySet<string>> {
  const unjudged = new Set<string>();
  const byServer = new Map<string, ToolDefinition[]>();
  for (const { server, tool } of tools) {
    const listed = byServer.get(server) ?? [];
    listed.push(tool);
    byServer.set(server, listed);
  }
  for (const [server, listed] of byServer) {
    await Promise.resolve()
      .then(() => gate.toolsListed?.(server, listed))
      .catch(() => unjudged.add(server));
  }
  return unjudged;
}

/** Asks a gate, and denies when it throws. */
export async function askGate(ask: () => GateVerdict | Promise<GateVerdict>): Promise<GateVerdict> {
  try {
    return await ask();
  } catch (error) {
    return {
      allowed: false,
      reasonCode: 'GATE_FAILED',
      message: `The gate failed: ${error instanceof Error ? error.name : typeof error}`,
    };
  }
}
