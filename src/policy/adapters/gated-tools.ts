/** The one way in which tools of frameworks are called: listed with the gate, decided, run, judged. */
import { randomUUID } from 'node:crypto';
import { ObservatoryError } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import type { ToolDefinition } from '../../mcp-client/index.ts';
import type { AuditRun } from '../audit/index.ts';
import { copyArguments } from '../call-arguments.ts';
import { type Decision, isBlocked } from '../decision.ts';
import type { PolicyGate } from '../gate.ts';
import type { GateCall } from '../gate-types.ts';
import { guardedCall, guardedDecision } from '../guarded-call.ts';
import { DEFAULT_MAX_BYTES } from '../output-contract.ts';
import { findSession } from '../run-sources.ts';
import { isPromise, type JsonSchemaOf, readJsonSchema } from './tool-schemas.ts';
import { sendValue } from './tool-values.ts';

/** A call that needs a person. */
export interface AskedCall {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Why it needs one. */
  readonly message: string;
  readonly ruleIds: readonly string[];
}

export interface GateToolsOptions {
  /** The id of these tools in the policy. @defaultValue 'tools' */
  readonly server?: string | undefined;
  readonly audit?: AuditRun | undefined;
  /**
   * Adds caller, user request and the like to each call.
   * @param framework what the framework passes to the tool beside its arguments.
   * @defaultValue the run of `audit`, and a session for each `gateTools()`
   */
  readonly context?: ((tool: string, framework: unknown) => Partial<GateCall>) | undefined;
  /**
   * Asks a person about a call that needs approval: true approves this exact call, false rejects it, undefined leaves it
   * undone without a result. A throw, such as that of LangGraph's `interrupt()`, ends the call. Frameworks with approvals
   * of their own (AI SDK 6 and 7, OpenAI Agents) need none. @defaultValue the gate's queue, if it has one
   */
  readonly ask?:
    | ((call: AskedCall, framework: unknown) => boolean | undefined | Promise<boolean | undefined>)
    | undefined;
  /** Makes a JSON Schema of schemas that give none of themselves, such as those of zod 3. */
  readonly jsonSchemaOf?: JsonSchemaOf | undefined;
}

/** What is known of a tool, read from the object that the framework sees. */
export interface SeenTool {
  readonly name: string;
  readonly description: unknown;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
}

export interface FrameworkCall {
  readonly args: unknown;
  /** What the framework passes beside the arguments. */
  readonly framework: unknown;
  /** Whether a person approved the call by the framework's own means. */
  readonly isApproved?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  run(args: JsonObject): unknown;
}

/** The definitions that a gate knows, by server and name: tools that are gated later are added to them. */
const listings = new WeakMap<PolicyGate, Map<string, Map<string, ToolDefinition>>>();

export class GatedTools {
  readonly gate: PolicyGate;
  readonly server: string;
  readonly options: GateToolsOptions;
  readonly #session = randomUUID();
  readonly #listing: Map<string, ToolDefinition>;

  constructor(gate: PolicyGate, options: GateToolsOptions) {
    this.gate = gate;
    this.server = options.server ?? 'tools';
    this.options = options;
    const servers = listings.get(gate) ?? new Map<string, Map<string, ToolDefinition>>();
    listings.set(gate, servers);
    this.#listing = servers.get(this.server) ?? new Map<string, ToolDefinition>();
    servers.set(this.server, this.#listing);
  }

  /** Adds a tool. @param see reads the tool as it is now. */
  add(see: () => SeenTool): GatedTool {
    const tool = new GatedTool(this, see);
    const definition = tool.read();
    if (!isPromise(definition)) this.#listing.set(definition.name, definition);
    return tool;
  }

  /** Tells the gate of all tools that were added. */
  async list(): Promise<void> {
    await this.gate.refreshTools(this.server, [...this.#listing.values()]);
  }

  /** Tells the gate of a definition that it does not know. One that is not the first of its name is a changed one. */
  async listAs(definition: ToolDefinition): Promise<void> {
    const { name } = definition;
    const [known] = this.gate.listing({ server: this.server, tool: name })[this.server]?.tools ?? [];
    if (known === definition) return;
    this.#listing.set(name, definition);
    await this.list();
  }

  callOf(tool: string, args: JsonObject, framework: unknown): GateCall {
    const { audit, context } = this.options;
    const sessionId = findSession({}) ?? this.#session;
    return { runId: audit?.id, sessionId, ...context?.(tool, framework), server: this.server, tool, args };
  }

  /** Whether people are asked by the framework: nobody else is there to ask them. */
  get asksByFramework(): boolean {
    return this.options.ask === undefined && !this.gate.hasQueue;
  }
}

/** One tool, as often as it is called. */
export class GatedTool {
  readonly #tools: GatedTools;
  readonly #see: () => SeenTool;
  #seen: SeenTool | undefined;
  #definition: ToolDefinition | PromiseLike<ToolDefinition> | undefined;

  constructor(tools: GatedTools, see: () => SeenTool) {
    this.#tools = tools;
    this.#see = see;
  }

  /** Tells the gate of the tool as it is now. */
  async list(): Promise<void> {
    await this.#tools.listAs(await this.read());
  }

  /** The definition, read again when a member of the tool is another one than before. */
  read(): ToolDefinition | PromiseLike<ToolDefinition> {
    const seen = this.#see();
    const before = this.#seen;
    if (this.#definition !== undefined && before !== undefined && isSame(seen, before))
      return this.#definition;
    this.#seen = seen;
    this.#definition = toDefinition(seen, this.#tools.options.jsonSchemaOf);
    return this.#definition;
  }

  /** Whether the framework has to ask a person about the call. Decides and records nothing. */
  async needsPerson(args: unknown, framework: unknown): Promise<boolean> {
    if (!this.#tools.asksByFramework) return false;
    await this.list();
    const { args: copied } = copyArguments(args, `'${this.#name}'`);
    return isAsked(await this.#tools.gate.preview(this.#tools.callOf(this.#name, copied, framework)));
  }

  get #name(): string {
    return this.#see().name;
  }

  /**
   * Runs a call if the gate allows it. @returns what the tool gave.
   * @throws PolicyDeniedError when the call or its result is refused.
   */
  async call({ args: given, framework, isApproved, signal, run }: FrameworkCall): Promise<unknown> {
    const { gate } = this.#tools;
    const name = this.#name;
    const { args, isUnsafe } = copyArguments(given, `'${name}'`);
    await this.list();
    const call = this.#tools.callOf(name, args, framework);
    const answer = isUnsafe ? {} : await this.#askAbout(call, framework, isApproved);
    if (answer === undefined) return undefined;
    let sent: ReturnType<typeof sendValue> | undefined;
    const invoke = async (decided: JsonObject, { enforcement }: Decision): Promise<unknown> => {
      signal?.throwIfAborted();
      // They were denied as they were given: somebody made them smaller, and may have made them other ones again.
      if (isUnsafe && enforcement === 'enforced')
        throw new ObservatoryError(
          'INVALID_INPUT',
          `The arguments of '${name}' changed while they were decided`,
        );
      const contract = gate.outputContract(call);
      const value = await run(isUnsafe ? args : structuredClone(decided));
      const { maxBytes = DEFAULT_MAX_BYTES, checks = [] } = contract ?? {};
      sent = sendValue(value, checks.length > 0, maxBytes);
      return sent.result;
    };
    const { audit } = this.#tools.options;
    const refresh = (): Promise<void> => this.list();
    const { result } = await guardedCall({ ...call, ...answer }, invoke, { gate, audit, refresh });
    return sent?.read(result);
  }

  /**
   * Decides and records a call that somebody else makes, whose result is not seen.
   * @returns why it must not be made; undefined when it may.
   */
  async decide(
    args: unknown,
    framework: unknown,
    isApproved: true | undefined,
  ): Promise<Decision | undefined> {
    const { args: copied } = copyArguments(args, `'${this.#name}'`);
    await this.list();
    const call = this.#tools.callOf(this.#name, copied, framework);
    const answer = await this.#askAbout(call, framework, isApproved);
    const { gate, options } = this.#tools;
    const decided = { gate, audit: options.audit, refresh: () => this.list() };
    return await guardedDecision({ ...call, ...answer }, decided);
  }

  /** The answer of a person, if the call needs one and somebody can be asked; undefined leaves the call undone. */
  async #askAbout(
    call: GateCall,
    framework: unknown,
    isApproved: boolean | undefined,
  ): Promise<Partial<GateCall> | undefined> {
    const { ask } = this.#tools.options;
    if (isApproved === undefined && ask === undefined) return {};
    const { gate } = this.#tools;
    const decision = await gate.preview(call);
    if (!isAsked(decision)) return {};
    const { server, tool, args } = call;
    const { message, ruleIds } = decision;
    const answer =
      isApproved ?? (await ask?.({ server, tool, args: structuredClone(args), message, ruleIds }, framework));
    if (answer === undefined) return undefined;
    // Anything else than true is no approval.
    return answer === true ? { approvalToken: gate.approve(call) } : { isRejected: true };
  }
}

function isAsked(decision: Decision): boolean {
  return decision.decision === 'require_approval' && isBlocked(decision);
}

function isSame(seen: SeenTool, before: SeenTool): boolean {
  return Object.entries(seen).every(([key, value]) => before[key as keyof SeenTool] === value);
}

function toDefinition(
  { name, description, inputSchema, outputSchema }: SeenTool,
  convert: JsonSchemaOf | undefined,
): ToolDefinition | PromiseLike<ToolDefinition> {
  const input = readJsonSchema(inputSchema, 'input', name, convert);
  const output =
    outputSchema === undefined || outputSchema === null
      ? undefined
      : readJsonSchema(outputSchema, 'output', name, convert);
  const make = (inputs: object, outputs: object | undefined): ToolDefinition => ({
    name,
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: inputs,
    ...(outputs === undefined ? {} : { outputSchema: outputs }),
  });
  if (!isPromise(input) && !isPromise(output)) return make(input, output);
  return Promise.all([input, output]).then(([inputs, outputs]) => make(inputs, outputs));
}

/** The error of what is not recognized as a tool. */
export function refuseTool(what: string, why: string): ObservatoryError {
  return new ObservatoryError('INVALID_INPUT', `gateTools() cannot gate ${what}: ${why}`);
}
