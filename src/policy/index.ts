export { Approvals, cleanPreview } from './approvals.ts';
export { AuditLog, type AuditOptions, type AuditRun } from './audit.ts';
export { type AuditProblem, type AuditReport, verifyAudit } from './audit-verify.ts';
export type { CatalogueTool } from './catalogue.ts';
export {
  type Decision,
  type DecisionKind,
  decisionToWire,
  isBlocked,
  PolicyDeniedError,
  type WireDecision,
} from './decision.ts';
export type { PolicyAnswer, PolicyDecisionPoint, PolicyRequest } from './decision-point.ts';
export { type EndToEndCase, type EndToEndReport, runEndToEnd, scriptedPlanner } from './eval/end-to-end.ts';
export {
  fuzzPlans,
  isClean,
  type OfflineOptions,
  type OfflineReport,
  runOfflineEval,
} from './eval/offline.ts';
export type { Echo } from './evidence/leaves.ts';
export {
  checkSummary,
  type GroundedItem,
  type GroundedSummary,
  type SummaryVerdict,
} from './evidence/summary.ts';
export { PolicyGate } from './gate.ts';
export { type GateableClient, type GateClientOptions, gateClient } from './gate-client.ts';
export type { GateCall, PolicyGateOptions } from './gate-types.ts';
export { type GuardedCallOptions, type GuardedResult, guardedCall } from './guarded-call.ts';
export { discoverTools } from './host/discover-tools.ts';
export { type AskOptions, type AskResult, PolicyHost, type PolicyHostOptions } from './host/host.ts';
export type { Planner, PlannerMessage } from './host/planner.ts';
export { asksForSummary, parseSummary, planMessages, summaryMessages } from './host/prompts.ts';
export { connectPolicyServer, type PolicyServer, type PolicyServerConfig } from './host/server.ts';
export { askResultToWire } from './host/wire.ts';
export { checkInput, type InputVerdict } from './input-policy.ts';
export { compileLinear } from './linear-regexp.ts';
export type { OutputVerdict } from './output.ts';
export { PinStore } from './pins.ts';
export {
  type CallToolPlan,
  type FinalAnswerPlan,
  type JsonRecord,
  type Plan,
  type PlanResult,
  parsePlan,
} from './plan.ts';
export {
  type LoadedPolicy,
  type PolicyDocument,
  policyPath,
  readPolicy,
  readPolicyFile,
} from './policy-file.ts';
export { type Gate, gateOf, REASONS, type ReasonCode } from './reasons.ts';
export { redactText, redactValue } from './redact.ts';
export { type Finding, riskOf, scanText } from './scanner.ts';
export { SchemaRefusedError } from './schema-check.ts';
export { compileSchema, compileStats } from './schema-compiler.ts';
export type { DecisionRecorder } from './settle.ts';
export {
  FILE_LIMITS,
  type JsonLimits,
  PLAN_LIMITS,
  parseStrictJson,
  StrictJsonError,
} from './strict-json.ts';
export { type ToolDefinition, type ToolsByServer, toolHash } from './tool-definition.ts';
