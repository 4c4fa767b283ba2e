/** `mcp-observatory gate lint` and `gate explain`: what a policy says, before it decides. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { formatPlural, takeInSlices } from '../base/index.ts';
import { isObject, type JsonObject, PLAN_LIMITS, parseStrictJson } from '../json/index.ts';
import {
  formatWord,
  gateOf,
  lintPolicy,
  Policy,
  PolicyGate,
  REQUEST_METHODS,
  type RequestMethod,
  readPolicyFile,
  SourceText,
} from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from './command-line/index.ts';
import {
  findPolicyPath,
  listReadTools,
  openGate,
  POLICY_FLAGS,
  TOOLS_FLAGS,
} from './policy-options/index.ts';

/** Exit code 1 when there is an error, and with `--strict` when there is a warning. */
export async function runGateLint(args: readonly string[], io: CommandIo): Promise<number> {
  const { policy, allowlist } = POLICY_FLAGS;
  const flags = {
    ...TOOLS_FLAGS,
    policy,
    allowlist,
    strict: { type: 'boolean' },
    json: { type: 'boolean' },
  } as const;
  const { values } = readFlags(args, flags);
  const findings = lintPolicy(readBytes(findPolicyPath(values, io.env)), await listReadTools(values, io.env));
  const { paint } = io.stdout;
  for (const { severity, code, ruleIds, message } of findings) {
    if (values.json === true) print(io, { severity, code, rule_ids: ruleIds, message });
    else
      io.stdout.writeLine(`${paint(severity === 'error' ? 'red' : 'yellow', severity)} ${code}: ${message}`);
  }
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  if (values.json !== true) {
    const warnings = findings.length - errors;
    io.stdout.writeLine(`${formatPlural(errors, 'error')}, ${formatPlural(warnings, 'warning')}`);
  }
  return errors > 0 || (values.strict === true && findings.length > 0) ? EXIT_FAILED : EXIT_OK;
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw usageError(`The policy file '${path}' cannot be read: ${(cause as Error).message}`, cause);
  }
}

/** Says which rules decide a call, and why each of the others does not. */
export async function runGateExplain(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = {
    ...TOOLS_FLAGS,
    ...POLICY_FLAGS,
    query: { type: 'string' },
    'prompt-template': { type: 'string' },
    json: { type: 'boolean' },
  } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const [given, ...more] = positionals;
  if (given === undefined || more.length > 0) throw usageError("'gate explain' needs one CALL, in quotes");
  const call = readCall(given === '-' ? await text(io.stdin) : given);
  const policy = new Policy(readPolicyFile(findPolicyPath(values, io.env)));
  if (call.method !== undefined) return explainRequest(call, policy, io, values.json === true);
  const tools = await listReadTools(values, io.env);
  using gate = tools === undefined ? undefined : openGate(values, io.env, { tools });
  const listed = gate?.find(call.server, call.tool);
  const request = values.query === undefined ? undefined : new SourceText().add(values.query);
  if (request !== undefined) await takeInSlices(request.read());
  const rules = policy.explain(call.server, call.tool, call.args, { request }, listed);
  const decision =
    (await gate?.evaluateInSlices({
      ...call,
      userRequest: values.query,
      promptTemplateId: values['prompt-template'],
    })) ?? policy.evaluate(call.server, call.tool, call.args, { request });
  const { reasonCode, message, ruleIds } = decision;
  const decided = { decision: decision.decision, gate: gateOf(reasonCode), reason_code: reasonCode, message };
  if (values.json === true) {
    const checked = tools === undefined ? 'rules' : 'call';
    print(io, { ...decided, rule_ids: ruleIds, policy_hash: policy.hash, checked, rules });
    return EXIT_OK;
  }
  io.stdout.writeLine(`${decided.decision} by ${decided.gate} (${reasonCode}): ${message}`);
  for (const { id, effect, applies, why } of rules) {
    const mark = ruleIds.includes(id) ? '*' : ' ';
    io.stdout.writeLine(
      `${mark} ${effect.padEnd(16)} ${id}: ${applies ? 'applies' : 'does not apply'}, ${why}`,
    );
  }
  if (gate?.problem !== undefined) io.stdout.writeLine(gate.problem.message);
  if (tools === undefined)
    io.stdout.writeLine(
      'By the rules alone: --servers FILE or --tools FILE checks definition and arguments too',
    );
  return EXIT_OK;
}

/** A request is decided by the words about its server. */
function explainRequest(
  { server, tool, method, args }: Call,
  policy: Policy,
  io: CommandIo,
  isJson: boolean,
): number {
  using gate = new PolicyGate({ policy: policy.document });
  const { decision, reasonCode, message } = gate.evaluate({ server, tool, method, args });
  const decided = { decision, gate: gateOf(reasonCode), reason_code: reasonCode, message };
  const { servers = {} } = policy.document;
  const word = formatWord(tool);
  const words = Object.hasOwn(servers, server) ? servers[server] : undefined;
  const says = words?.[word as keyof typeof words] ?? null;
  if (isJson) {
    print(io, { ...decided, policy_hash: policy.hash, checked: 'words', word, says });
    return EXIT_OK;
  }
  io.stdout.writeLine(`${decision} by ${decided.gate} (${reasonCode}): ${message}`);
  const said = says === null ? 'nothing' : JSON.stringify(says);
  io.stdout.writeLine(`  servers, '${server}', ${word}: ${said}`);
  return EXIT_OK;
}

interface Call {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Set for a request that is no tool call; `tool` is the same. */
  readonly method?: RequestMethod | undefined;
}

/** `{"server", "tool", "args"}`, where a plan's `type` may be there too, or `{"server", "method", "params"}`. */
function readCall(given: string): Call {
  let call: unknown;
  try {
    call = parseStrictJson(given, PLAN_LIMITS);
  } catch (cause) {
    throw usageError(`CALL is not JSON: ${(cause as Error).message}`, cause);
  }
  const { server, tool, args = {}, method, params = {} } = isObject(call) ? call : {};
  if (method !== undefined) {
    if (typeof server !== 'string' || typeof method !== 'string' || !isObject(params))
      throw usageError('A request is {"server": "...", "method": "...", "params": {...}}');
    if (!REQUEST_METHODS.includes(method))
      throw usageError(`The method ${JSON.stringify(method)} is none of: ${REQUEST_METHODS.join(', ')}`);
    return { server, tool: method, method: method as RequestMethod, args: params };
  }
  if (typeof server !== 'string' || typeof tool !== 'string' || !isObject(args))
    throw usageError('CALL is {"server": "...", "tool": "...", "args": {...}}');
  return { server, tool, args };
}
