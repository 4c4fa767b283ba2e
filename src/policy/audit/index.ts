export {
  type AuditFields,
  AuditLog,
  type AuditOption,
  type AuditOptions,
  type AuditRun,
  auditRun,
  openAudit,
} from './audit.ts';
export { type AuditHead, expectedHead, parseObject } from './audit-head.ts';
export { type KeptContent, type RecordContent, readKept } from './content.ts';
export { hashText } from './files.ts';
export { type AuditProblem, type AuditReport, verifyAudit } from './verify.ts';
