export {
  findPinsPath,
  findPolicyPath,
  openAuditLog,
  openGate,
  openGateIfGiven,
  POLICY_FLAGS,
  POLICY_FLAGS_HELP,
  tellBarred,
} from './flags.ts';
export { listReadTools, readToolsFile, TOOLS_FLAGS } from './tools.ts';
