/**
 * Decides whether a tool call may happen and whether its result may be seen, asks people, and keeps the audit trail. It
 * may import `base` to `approvals`.
 */
export type { ToolDefinition } from '../mcp-client/index.ts';
export {
  type AskedCall,
  type GateToolsOptions,
  gateTools,
  type ToolApprovalOptions,
  type ToolApprovalRequest,
  type ToolApprovalStatus,
  toolApproval,
} from './adapters/index.ts';
export {
  type AuditHead,
  AuditLog,
  type AuditOption,
  type AuditOptions,
  type AuditProblem,
  type AuditReport,
  type AuditRun,
  auditRun,
  expectedHead,
  openAudit,
  verifyAudit,
} from './audit/index.ts';
export { APPROVED_DEFINITION, BARRED_DEFINITION, BARRED_TOOL } from './barred-tools.ts';
export type { CatalogTool } from './catalog.ts';
export { type CommandAction, readCommand } from './commands/index.ts';
export {
  type Decision,
  type DecisionKind,
  decisionToWire,
  isBlocked,
  PolicyDeniedError,
  type Refusal,
} from './decision.ts';
export type { PolicyAnswer, PolicyDecisionPoint, PolicyRequest } from './decision-point.ts';
export { checkSummary, type GroundedSummary, type SummaryVerdict } from './evidence/index.ts';
export type { GateFinding } from './findings.ts';
export { PolicyGate } from './gate.ts';
export { type GateableClient, type GateClientOptions, gateClient } from './gate-client.ts';
export type { DecisionRecorder, GateApprovals, GateCall, PolicyGateOptions } from './gate-types.ts';
export {
  type GuardedCallOptions,
  type GuardedResult,
  guardedCall,
  guardedDecision,
  recordFindings,
} from './guarded-call.ts';
export { mayInstruct, type RequestGuardOptions, serverRequestGuard } from './guarded-request.ts';
export type { Planner, PlannerMessage } from './host/index.ts';
export {
  type AskOptions,
  type AskResult,
  askResultToWire,
  asksForSummary,
  connectPolicyServer,
  connectPolicyServers,
  discoverTools,
  PolicyHost,
  type PolicyHostOptions,
  type PolicyServer,
  parseSummary,
  planMessages,
  summaryMessages,
  ToolCallError,
  toRawResult,
} from './host/index.ts';
export { checkInput } from './input-policy.ts';
export {
  type Change,
  comparePolicies,
  type DecidedCall,
  decideRecorded,
  joinChanges,
  type LearnedPolicy,
  type LearnOptions,
  learnPolicy,
  type PolicyChange,
  type RecordedCall,
} from './learn/index.ts';
export {
  type CallLedger,
  type EarlierEffect,
  type LedgerAnswer,
  type LedgerOutcome,
  type LedgerRequest,
  type LedgerTake,
  type LedgerWitness,
  MemoryLedger,
} from './ledger/index.ts';
export { lintPolicy } from './lint.ts';
export type { LintFinding } from './lint-finding.ts';
export { A_GATE, AN_AUDIT } from './option-kinds.ts';
export type { OutputVerdict } from './output.ts';
export { structureProblem } from './output-contract.ts';
export {
  approvePins,
  BARRED_AS,
  type PinFinding,
  type PinStatus,
  pending,
  reviewDigest,
  reviewPins,
} from './pin-review.ts';
export { PinStore } from './pins.ts';
export { type CallToolPlan, type FinalAnswerPlan, type Plan, parsePlan } from './plan.ts';
export { Policy } from './policy.ts';
export { type PolicyDocument, policyPath, readPolicy, readPolicyFile } from './policy-file.ts';
export { readRealPath } from './real-path.ts';
export { type Gate, gateOf, REASONS, type ReasonCode, scanText } from './reasons/index.ts';
export {
  type RepeatedDecision,
  type ReplayTraceOptions,
  readRecordedCalls,
  replayTrace,
  type TraceReplay,
} from './replay/index.ts';
export { formatWord, REQUEST_METHODS, type RequestMethod } from './requests.ts';
export type { ReadTool } from './reservations.ts';
export { SourceText } from './sources/index.ts';
export { type ToolsByServer, toolHash } from './tool-definition.ts';
export { isUntrusted } from './untrusted-result.ts';
