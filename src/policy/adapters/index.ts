export { gateTools } from './gate-tools.ts';
export type { AskedCall, GateToolsOptions } from './gated-tools.ts';
export type { ToolApprovalOptions, ToolApprovalRequest, ToolApprovalStatus } from './tool-approval.ts';
export { toolApproval } from './tool-approval.ts';
