/** The AI SDK 7's seam for policies: `toolApproval` of `generateText`, `streamText` and its agents. */
import { checkOptions, checkValue, kinds, type OptionKinds } from '../../base/index.ts';
import { isObject, readObject } from '../../json/index.ts';
import type { PolicyGate } from '../gate.ts';
import { A_GATE, AN_AUDIT_RUN } from '../option-kinds.ts';
import { approvalIn, isAnsweredIn, noteAsked } from './framework-approvals.ts';
import { readGatedTool } from './gate-tools.ts';
import { type GatedTool, GatedTools, type GateToolsOptions } from './gated-tools.ts';

export type ToolApprovalOptions = Omit<GateToolsOptions, 'ask'>;

/** What the AI SDK takes for an answer. */
export type ToolApprovalStatus =
  | { readonly type: 'not-applicable' }
  | { readonly type: 'denied'; readonly reason?: string }
  | { readonly type: 'user-approval'; readonly reason?: string };

/** What the AI SDK asks with. */
export interface ToolApprovalRequest {
  readonly toolCall: { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };
  readonly tools?: object | undefined;
  readonly toolsContext?: unknown;
  readonly messages: readonly unknown[];
}

const OPTIONS: OptionKinds<ToolApprovalOptions> = {
  server: kinds.string,
  audit: AN_AUDIT_RUN,
  context: { ...kinds.function, expected: 'a function (tool) => ({ caller, ... })' },
  jsonSchemaOf: { ...kinds.function, expected: 'a function (schema) => JSON Schema' },
};

/**
 * The gate as `toolApproval` of the AI SDK 7: a call is denied with the reason, waits for the user, or is made. Calls of
 * all tools are decided and recorded, those that the provider or the client runs too, but what they give is not judged:
 * for that, pass the tools through `gateTools()` as well, whose calls are then left to it. A tool's own `needsApproval`
 * still counts.
 */
export function toolApproval(
  gate: PolicyGate,
  options: ToolApprovalOptions = {},
): (request: ToolApprovalRequest) => Promise<ToolApprovalStatus> {
  checkValue('the gate of toolApproval()', gate, A_GATE);
  checkOptions(options, OPTIONS, 'toolApproval()');
  const gated = new GatedTools(gate, options);
  const known = new WeakMap<object, GatedTool>();
  const toTool = (name: string, tool: object): GatedTool => {
    const found = known.get(tool) ?? addTool(gated, name, tool);
    known.set(tool, found);
    return found;
  };
  return async (request) => {
    const { toolCall, tools = {} } = request;
    const { toolName, input } = toolCall;
    const tool: unknown = Object.hasOwn(tools, toolName) ? Reflect.get(tools, toolName) : undefined;
    const about = { ...request, toolCallId: toolCall.toolCallId };
    if (!isObject(tool)) return { type: 'denied', reason: `There is no tool '${toolName.slice(0, 64)}'` };
    // Its own call is the one that is decided and recorded.
    if (readGatedTool(tool) === undefined) {
      const isApproved = approvalIn(about, toolName, input);
      const refused = await toTool(toolName, tool).decide(input, about, isApproved);
      const isAsked = refused?.decision === 'require_approval' && gated.asksByFramework;
      // After an answer that does not count the SDK would make the call, unless it is denied.
      if (isAsked && !isAnsweredIn(about)) {
        noteAsked(toolCall.toolCallId, toolName, input);
        return { type: 'user-approval', reason: refused.message };
      }
      if (refused !== undefined) return { type: 'denied', reason: refused.message };
    }
    return (await wantsApproval(tool, request)) ? { type: 'user-approval' } : { type: 'not-applicable' };
  };
}

function addTool(tools: GatedTools, name: string, tool: object): GatedTool {
  const { description, inputSchema, outputSchema } = readObject(tool);
  return tools.add(() => ({ name, description, inputSchema, outputSchema }));
}

/** The tool's own `needsApproval`, which the SDK does not ask when there is a `toolApproval`. */
async function wantsApproval(tool: object, request: ToolApprovalRequest): Promise<boolean> {
  const { needsApproval } = readObject(tool);
  if (typeof needsApproval !== 'function') return needsApproval === true;
  const { toolCall, messages, toolsContext } = request;
  const { toolName, toolCallId, input } = toolCall;
  const context = readObject(toolsContext)[toolName];
  return (await Reflect.apply(needsApproval, tool, [input, { toolCallId, messages, context }])) === true;
}
