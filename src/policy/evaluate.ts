/**
 * G2 and the built-in rules of G3: what can be decided about a call without asking anyone or spending anything.
 */
import { createHash, createHmac } from 'node:crypto';
import { context } from '@opentelemetry/api';
import {
  canonicalJson,
  checkJsonValue,
  isObject,
  type JsonLimits,
  type JsonObject,
  PLAN_LIMITS,
  StepBudget,
  StrictJsonError,
} from '../json/index.ts';
import { getGovernance, isName } from '../processor/index.ts';
import type { CatalogTool, ToolCatalog, ToolChecks } from './catalog.ts';
import { type Decision, type DecisionKind, type Refusal, refusal } from './decision.ts';
import type { GateCall } from './gate-types.ts';
import { DEFAULT_MAX_BYTES, type OutputContracts } from './output-contract.ts';
import type { Policy } from './policy.ts';
import type { PolicySource } from './policy-source.ts';
import { gateOf } from './reasons/index.ts';
import { type RequestMethod, SERVER_REQUESTS } from './requests.ts';
import type { RunSources } from './run-sources.ts';

/** What a call is judged against. */
export interface Grounds {
  readonly catalog: ToolCatalog;
  readonly source: PolicySource;
  /** Key of the argument digest; without one it is plain SHA-256. */
  readonly digestKey: string | undefined;
  readonly contracts: OutputContracts;
  /** Where the arguments of calls may have come from. */
  readonly sources: RunSources;
}

/**
 * Does in slices what a decision needs: checks of the tool, and the index of long prompts.
 * @returns undefined for nothing: a promise takes longer than most decisions have to spare.
 */
export function prepareCall(call: GateCall, { catalog, sources }: Grounds): Promise<void> | undefined {
  if (call.method !== undefined) return undefined;
  const prepared = catalog.prepare(call.server, call.tool);
  return prepared === undefined ? sources.prepare(call) : prepared.then(() => sources.prepare(call));
}

export function evaluateCall(call: GateCall, grounds: Grounds): Decision {
  const { catalog, source, digestKey } = grounds;
  const started = performance.now();
  const policy = source.policy;
  // Shadow mode may let a call through that no rule allows, so its arguments are checked all the same.
  const isTool = call.method === undefined;
  const isChecked =
    policy?.names(call.server, call.tool) === true ||
    policy?.document.mode === 'shadow' ||
    policy?.asksAbout(call.server) === true;
  const tool = isTool ? catalog.find(call.server, call.tool, isChecked) : undefined;
  const limits = policy?.document.limits;
  const unsafe = unsafeArguments(call.args, {
    ...PLAN_LIMITS,
    // What a server sends is as large as results may be.
    maxBytes:
      !isTool && SERVER_REQUESTS.has(call.method)
        ? (limits?.output_bytes ?? DEFAULT_MAX_BYTES)
        : (limits?.argument_bytes ?? PLAN_LIMITS.maxBytes),
    maxDepth: limits?.argument_depth ?? PLAN_LIMITS.maxDepth,
  });
  const argsDigest = unsafe === undefined ? argumentDigest(call.args, digestKey) : null;
  const make = (
    decision: DecisionKind,
    { reasonCode, message, sources }: Refusal & Pick<Decision, 'sources'>,
    ruleIds: readonly string[] = [],
    canShadow = false,
  ): Decision => {
    const made: Decision = {
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
    };
    return sources === undefined ? made : { ...made, sources };
  };
  if (policy === undefined) {
    // Why is for the operator (`gate.problem`, the log): the model reads this message, and the reason names files.
    const message = 'There is no usable policy, so everything is denied';
    return make('deny', refusal('policy_unavailable', message));
  }
  if (call.method !== undefined) {
    const refused = unsafe ?? requestProblem(call.server, call.method, call.args, policy, catalog);
    if (refused !== undefined) return make('deny', refused, [], refused !== unsafe);
    return make('allow', refusal('allowed', `The policy allows ${call.method} of ${call.server}`));
  }
  const structural = unsafe ?? toolProblem(call, tool, catalog);
  if (structural !== undefined) return make('deny', structural);
  if (tool?.checks === undefined) {
    const { ruleIds, ...none } = policy.evaluate(call.server, call.tool, {});
    return make('deny', none, ruleIds);
  }
  const isClosed = policy.document.unknown_arguments === 'reject_always';
  const misfit = argumentProblem(call.args, tool.checks, isClosed);
  if (misfit !== undefined) return make('deny', misfit, [], true);
  if (policy.document.prompt_template === 'required' && !isName(findTemplate(call))) {
    const message = 'The policy requires a prompt template, and the call names none';
    return make('deny', refusal('prompt_template_missing', message), [], true);
  }
  const verdict = policy.evaluate(call.server, call.tool, call.args, grounds.sources.knownTo(call), tool);
  if (verdict.decision !== 'deny' && grounds.contracts.of(tool, policy) === undefined) {
    const message = 'The tool has no output type, and the policy does not take untyped results';
    return make('deny', refusal('output_untyped', message), [], true);
  }
  return make(verdict.decision, verdict, verdict.ruleIds, true);
}

/** The prompt template of a call: its own, or that of the context. */
export function findTemplate({ promptTemplateId }: GateCall): string | undefined {
  return promptTemplateId ?? getGovernance(context.active())?.promptTemplateId;
}

function requestProblem(
  server: string,
  method: RequestMethod,
  args: JsonObject,
  policy: Policy,
  catalog: ToolCatalog,
): Refusal | undefined {
  const refused = policy.requests.refusalOf(server, method, args);
  if (refused !== undefined || method !== 'instructions') return refused;
  // Before its tools are listed, what the rules name is all that is known.
  const isOfUse = catalog.hasServer(server)
    ? catalog
        .namedTools(server)
        .some((tool) => tool.barred === undefined && policy.mayAllow(server, tool.name, tool))
    : policy.rules.some(({ document }) => document.server === server && document.effect !== 'deny');
  return isOfUse ? undefined : refusal('request_not_allowed', `No tool of ${server} is allowed`);
}

function toolProblem(
  call: GateCall,
  tool: CatalogTool | undefined,
  catalog: ToolCatalog,
): Refusal | undefined {
  if (!catalog.hasServer(call.server)) {
    return refusal('server_unknown', `There is no server '${call.server.slice(0, 64)}'`);
  }
  if (tool === undefined) {
    return refusal('tool_unknown', `The server lists no tool '${call.tool.slice(0, 64)}'`);
  }
  return tool.barred;
}

/** Refuses what no schema makes safe: prototype keys, unsafe numbers, lone surrogates, excess size or depth. */
function unsafeArguments(args: unknown, limits: JsonLimits): Refusal | undefined {
  if (!isObject(args)) return refusal('args_unsafe', 'The arguments are not a JSON object');
  try {
    checkJsonValue(args, limits);
    return undefined;
  } catch (error) {
    const message = error instanceof StrictJsonError ? error.message : 'The arguments cannot be read';
    return refusal('args_unsafe', message);
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
  const budget = new StepBudget();
  if (isClosed || !declared.isExplicit) {
    for (const name of Object.keys(args)) {
      if (!checks.declares(name, budget)) {
        return refusal('args_unknown_key', `The tool has no argument ${JSON.stringify(name.slice(0, 64))}`);
      }
    }
  }
  const verdict = checks.input.check(args, budget);
  if (verdict.valid) return undefined;
  return refusal(verdict.failed ? 'args_check_failed' : 'args_invalid', `Arguments: ${verdict.message}`);
}

/** SHA-256 of the canonical arguments, or HMAC-SHA-256 with a key, so that short arguments cannot be guessed. */
function argumentDigest(args: JsonObject, key: string | undefined): string {
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  return hash.update(canonicalJson(args), 'utf8').digest('hex');
}
