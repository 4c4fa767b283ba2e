/**
 * G2 and the built-in rules of G3: what can be decided about a call without asking anyone or spending anything.
 */
import { createHash, createHmac } from 'node:crypto';
import {
  canonicalJson,
  checkJsonValue,
  isObject,
  type JsonLimits,
  type JsonObject,
  PLAN_LIMITS,
  StrictJsonError,
} from '../json/index.ts';
import type { CatalogTool, ToolCatalog, ToolChecks } from './catalog.ts';
import type { Decision, DecisionKind } from './decision.ts';
import type { GateCall } from './gate-types.ts';
import type { OutputContracts } from './output-contract.ts';
import type { PolicySource } from './policy-source.ts';
import { gateOf, type ReasonCode } from './reasons/index.ts';

/** What a call is judged against. */
interface Grounds {
  readonly catalog: ToolCatalog;
  readonly source: PolicySource;
  /** Key of the argument digest; without one it is plain SHA-256. */
  readonly digestKey: string | undefined;
  readonly contracts: OutputContracts;
}

export function evaluateCall(call: GateCall, grounds: Grounds): Decision {
  const { catalog, source, digestKey } = grounds;
  const started = performance.now();
  const tool = catalog.find(call.server, call.tool);
  const policy = source.policy;
  const limits = policy?.document.limits;
  const unsafe = unsafeArguments(call.args, {
    ...PLAN_LIMITS,
    maxBytes: limits?.argument_bytes ?? PLAN_LIMITS.maxBytes,
    maxDepth: limits?.argument_depth ?? PLAN_LIMITS.maxDepth,
  });
  const argsDigest = unsafe === undefined ? argumentDigest(call.args, digestKey) : null;
  const make = (
    decision: DecisionKind,
    { reasonCode, message }: Refusal,
    ruleIds: readonly string[] = [],
    canShadow = false,
  ): Decision => ({
    decision,
    // Shadow mode tries rules out. It does not let through calls that no listed tool takes.
    enforcement: canShadow && policy?.document.mode === 'shadow' ? 'shadow' : 'enforced',
    wouldBlock: decision !== 'allow',
    reasonCode,
    gate: gateOf(reasonCode),
    message,
    ruleIds,
    policyHash: policy?.hash ?? null,
    toolHash: tool === undefined || tool.hash === '' ? null : tool.hash,
    argsDigest,
    latencyUs: (performance.now() - started) * 1_000,
  });
  if (policy === undefined) {
    const message = source.problem?.message ?? 'There is no policy';
    return make('deny', { reasonCode: 'policy_unavailable', message });
  }
  const structural = unsafe ?? toolProblem(call, tool, catalog);
  if (structural !== undefined || tool?.checks === undefined) {
    return make('deny', structural ?? { reasonCode: 'tool_invalid', message: 'The tool cannot be checked' });
  }
  const isClosed = policy.document.unknown_arguments === 'reject_always';
  const misfit = argumentProblem(call.args, tool.checks, isClosed);
  if (misfit !== undefined) return make('deny', misfit, [], true);
  const verdict = policy.evaluate(call.server, call.tool, call.args, call.userRequest);
  if (verdict.decision !== 'deny' && grounds.contracts.of(tool, policy) === undefined) {
    const message = 'The tool has no output type, and the policy does not take untyped results';
    return make('deny', { reasonCode: 'output_untyped', message }, [], true);
  }
  return make(verdict.decision, verdict, verdict.ruleIds, true);
}

function toolProblem(
  call: GateCall,
  tool: CatalogTool | undefined,
  catalog: ToolCatalog,
): Refusal | undefined {
  if (!catalog.hasServer(call.server)) {
    return { reasonCode: 'server_unknown', message: `There is no server '${call.server.slice(0, 64)}'` };
  }
  if (tool === undefined) {
    return { reasonCode: 'tool_unknown', message: `The server lists no tool '${call.tool.slice(0, 64)}'` };
  }
  return tool.barred;
}

interface Refusal {
  readonly reasonCode: ReasonCode;
  readonly message: string;
}

/** Refuses what no schema makes safe: prototype keys, unsafe numbers, lone surrogates, excess size or depth. */
function unsafeArguments(args: unknown, limits: JsonLimits): Refusal | undefined {
  if (!isObject(args)) return { reasonCode: 'args_unsafe', message: 'The arguments are not a JSON object' };
  try {
    checkJsonValue(args, limits);
    return undefined;
  } catch (error) {
    if (error instanceof StrictJsonError) return { reasonCode: 'args_unsafe', message: error.message };
    return { reasonCode: 'args_unsafe', message: 'The arguments cannot be read' };
  }
}

/**
 * Checks arguments that are safe to look at against a tool's input schema.
 *
 * @param isClosed refuse every name the schema does not list. Otherwise names are refused only where the schema says
 * nothing about further ones: JSON Schema's default, anything goes, is the wrong one for a call.
 */
function argumentProblem(args: JsonObject, checks: ToolChecks, isClosed: boolean): Refusal | undefined {
  const { declared } = checks;
  if (isClosed || !declared.isExplicit) {
    for (const name of Object.keys(args)) {
      if (!declared.names.has(name) && !checks.matchesPattern(name)) {
        return {
          reasonCode: 'args_unknown_key',
          message: `The tool has no argument ${JSON.stringify(name.slice(0, 64))}`,
        };
      }
    }
  }
  const verdict = checks.input.check(args);
  if (verdict.valid) return undefined;
  return {
    reasonCode: verdict.failed ? 'args_check_failed' : 'args_invalid',
    message: `Arguments: ${verdict.message}`,
  };
}

/** SHA-256 of the canonical arguments, or HMAC-SHA-256 with a key, so that short arguments cannot be guessed. */
function argumentDigest(args: JsonObject, key: string | undefined): string {
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  return hash.update(canonicalJson(args), 'utf8').digest('hex');
}
