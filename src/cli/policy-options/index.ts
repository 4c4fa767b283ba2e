export {
  openAuditLog,
  openGate,
  openGateIfGiven,
  POLICY_FLAGS,
  POLICY_FLAGS_HELP,
  pinsPathOf,
  policyPathOf,
  tellBarred,
} from './flags.ts';
export { readToolsFile, readToolsOf, TOOLS_FLAGS } from './tools.ts';
