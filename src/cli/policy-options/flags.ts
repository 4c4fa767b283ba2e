/** The options of the policy gate, for every command that calls tools or decides about calls. */
import { AuditLog, PinStore, PolicyGate, type PolicyGateOptions, policyPath } from '../../policy/index.ts';
import { resolveCaptureContent } from '../../processor/index.ts';
import { type CommandIo, usageError } from '../command-line/index.ts';

/** Flags that say which policy and which pins are in force. `--allowlist` is another name of `--policy`. */
export const POLICY_FLAGS = {
  policy: { type: 'string' },
  allowlist: { type: 'string' },
  pins: { type: 'string' },
} as const;

type PolicyFlagValues = { readonly [F in keyof typeof POLICY_FLAGS]?: string | undefined };

export const POLICY_FLAGS_HELP = `  --policy FILE          policy or allowlist: which tools may be called (else SAFE_ALLOWLIST_PATH)
  --pins FILE            approved tool definitions, from 'gate pin' (else SAFE_PINS_PATH). Without pins, what a
                         server lists first is trusted until the command ends`;

/** The policy file that a flag or the environment names. @throws ObservatoryError `INVALID_OPTION` for both flags */
function findPolicy({ policy, allowlist }: PolicyFlagValues, env: CommandIo['env']): string | undefined {
  if (policy !== undefined && allowlist !== undefined)
    throw usageError('--allowlist is another name of --policy: give one of them');
  return policy ?? allowlist ?? (env.SAFE_ALLOWLIST_PATH || undefined);
}

/** The pin file that the flag or the environment names. */
export function findPinsPath({ pins }: PolicyFlagValues, env: CommandIo['env']): string | undefined {
  return pins ?? (env.SAFE_PINS_PATH || undefined);
}

/** The policy file of a command that always has one: `config/allowlist.json` where nothing names another. */
export function findPolicyPath(values: PolicyFlagValues, env: CommandIo['env']): string {
  return policyPath(findPolicy(values, env), {});
}

/** The gate of a command that always has one. */
export function openGate(
  values: PolicyFlagValues,
  env: CommandIo['env'],
  more: Pick<PolicyGateOptions, 'tools' | 'approvals'> = {},
): PolicyGate {
  const policy = findPolicyPath(values, env);
  const path = findPinsPath(values, env);
  return new PolicyGate({ policy, pins: path === undefined ? undefined : PinStore.fromFile(path), ...more });
}

/** The gate of a command that works without one too; undefined when nothing names a policy. */
export function openGateIfGiven(
  values: PolicyFlagValues,
  env: CommandIo['env'],
  more: Pick<PolicyGateOptions, 'approvals'> = {},
): PolicyGate | undefined {
  if (findPolicy(values, env) === undefined) {
    if (values.pins !== undefined) throw usageError('--pins needs --policy FILE');
    return undefined;
  }
  const gate = openGate(values, env, more);
  gate.assertReady();
  return gate;
}

/** The audit trail of a command that calls tools through a gate. */
export function openAuditLog(env: CommandIo['env']): AuditLog {
  return new AuditLog({
    dir: env.SAFE_TRACE_DIR ?? '.mcp-observatory/traces',
    key: env.SAFE_AUDIT_KEY,
    sync: env.SAFE_AUDIT_SYNC === '1',
    captureContent: resolveCaptureContent(undefined, env),
  });
}

/** Most barred tools that are named. */
const MAX_BARRED = 20;

/** Says which tools were kept away because of what they are, so that it does not look as if they did not exist. */
export function tellBarred(gate: PolicyGate, { stderr }: CommandIo): void {
  const tools = gate.barred();
  for (const { server, name, barred } of tools.slice(0, MAX_BARRED))
    stderr.writeLine(`${server}/${name} is barred (${barred?.reasonCode}): ${barred?.message}`);
  if (tools.length > MAX_BARRED) stderr.writeLine(`and ${tools.length - MAX_BARRED} more tools`);
}
