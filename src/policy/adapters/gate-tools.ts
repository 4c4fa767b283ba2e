/** Gates the tools of agent frameworks and plain functions. A tool is recognized by its shape, never by a package. */
import { checkOptions, checkValue, kinds, type OptionKinds } from '../../base/index.ts';
import { isObject, type JsonObject, parseOrKeep, readObject } from '../../json/index.ts';
import { PolicyDeniedError } from '../decision.ts';
import type { PolicyGate } from '../gate.ts';
import { A_GATE, AN_AUDIT_RUN } from '../option-kinds.ts';
import { approvalIn, isApprovedInRun, noteAsked } from './framework-approvals.ts';
import { type GatedTool, GatedTools, type GateToolsOptions, refuseTool } from './gated-tools.ts';

const OPTIONS: OptionKinds<GateToolsOptions> = {
  server: kinds.string,
  audit: AN_AUDIT_RUN,
  context: { ...kinds.function, expected: 'a function (tool) => ({ caller, ... })' },
  ask: { ...kinds.function, expected: 'a function (call) => true, false or undefined' },
  jsonSchemaOf: { ...kinds.function, expected: 'a function (schema) => JSON Schema' },
};

/** Any function of a tool: what it takes is the framework's affair. */
type Run = (...params: unknown[]) => unknown;

/** The gated tools there are, by the object or function that the framework has. */
const gatedTools = new WeakMap<object, GatedTool>();

export function readGatedTool(tool: unknown): GatedTool | undefined {
  return typeof tool === 'object' && tool !== null ? gatedTools.get(tool) : undefined;
}

/**
 * Gates tools: of LangChain and LangGraph, the OpenAI Agents SDK, the AI SDK, Mastra, objects with `execute`, and
 * functions of one object. The result has the type of `tools`; the tools themselves are not changed, and remain a way
 * around the gate. Each call goes through the gate as those of `gateClient()` do, with the same spans, records and
 * budgets. A refused call throws `PolicyDeniedError`; of the OpenAI Agents SDK the model reads why.
 *
 * A call that needs approval is asked about by `ask` or the gate's queue. Without either the AI SDK 6 and 7 and the OpenAI
 * Agents SDK interrupt the run, and the approval of that call is taken once; others are refused.
 *
 * @param tools a list, or an object of tools by the name that the model calls.
 * @throws ObservatoryError `INVALID_INPUT` for a tool that is not recognized, or whose schema cannot be read.
 */
export function gateTools<T extends readonly unknown[] | Readonly<Record<string, unknown>>>(
  tools: T,
  gate: PolicyGate,
  options: GateToolsOptions = {},
): T {
  checkValue('the gate of gateTools()', gate, A_GATE);
  checkOptions(options, OPTIONS, 'gateTools()');
  const gated = new GatedTools(gate, options);
  const all = Array.isArray(tools)
    ? tools.map((tool: unknown, index) => gateTool(tool, undefined, `tool ${index}`, gated))
    : Object.fromEntries(
        Object.entries(tools).map(([key, tool]) => [key, gateTool(tool, key, `'${key}'`, gated)]),
      );
  // A call lists what it needs, and reports its own failure.
  void gated.list().catch(() => undefined);
  return all as unknown as T;
}

function gateTool(tool: unknown, key: string | undefined, what: string, tools: GatedTools): object {
  if (typeof tool === 'function') return gateFunction(tool as Run, key ?? tool.name, what, tools);
  if (!isObject(tool)) throw refuseTool(what, 'it is no tool');
  if (gatedTools.has(tool)) throw refuseTool(what, 'it is gated already');
  if (Array.isArray(tool.lc_namespace) && isRun(tool._call)) return gateLangChain(tool, what, tools);
  if (tool.type === 'function' && isRun(tool.invoke)) return gateOpenAiAgents(tool, what, tools);
  if (isRun(tool.execute)) return gateExecutable(tool, key ?? tool.name ?? tool.id, what, tools);
  throw refuseTool(what, 'it has no function of a known shape that would run here');
}

function isRun(value: unknown): value is Run {
  return typeof value === 'function';
}

function readName(name: unknown, what: string): string {
  if (typeof name === 'string' && name !== '') return name;
  throw refuseTool(what, 'it has no name');
}

/** A tool like the given one but for some members, with its own members and prototype. */
function withMembers(tool: JsonObject, members: Readonly<Record<string, unknown>>): JsonObject {
  const copy = Object.create(Object.getPrototypeOf(tool) as object | null, {
    ...Object.getOwnPropertyDescriptors(tool),
    ...Object.fromEntries(
      Object.entries(members).map(([name, value]) => [
        name,
        { value, enumerable: true, writable: false, configurable: false },
      ]),
    ),
  }) as JsonObject;
  return copy;
}

function gateFunction(run: Run, name: string, what: string, tools: GatedTools): Run {
  const gated = tools.add(() => ({
    name: readName(name, what),
    description: undefined,
    inputSchema: undefined,
    outputSchema: undefined,
  }));
  const call: Run = (given = {}, ...rest) =>
    gated.call({ args: given, framework: rest[0], run: (args) => readLast(run(args, ...rest)) });
  return Object.defineProperty(call, 'name', { value: name });
}

/** Tools of the AI SDK and Mastra, and plain objects: `execute(input, options)`. */
function gateExecutable(tool: JsonObject, given: unknown, what: string, tools: GatedTools): JsonObject {
  const name = readName(given, what);
  const { execute, needsApproval } = tool as { execute: Run; needsApproval?: unknown };
  const isMastra = typeof tool.id === 'string';
  const members: Record<string, unknown> = {
    execute: (input: unknown = {}, ...rest: unknown[]) => {
      const { abortSignal } = readObject(rest[0]);
      return gated.call({
        args: input,
        framework: rest[0],
        isApproved: approvalIn(rest[0], name, input),
        signal: abortSignal instanceof AbortSignal ? abortSignal : undefined,
        run: (args) => readLast(Reflect.apply(execute, tool, [args, ...rest])),
      });
    },
  };
  if (!isMastra) {
    members.needsApproval = async (input: unknown, ...rest: unknown[]) => {
      const own: unknown = isRun(needsApproval)
        ? await Reflect.apply(needsApproval, tool, [input, ...rest])
        : needsApproval;
      const isAsked = await gated.needsPerson(input, rest[0]);
      if (isAsked) noteAsked(readObject(rest[0]).toolCallId, name, input);
      return own === true || isAsked;
    };
  }
  const copy = withMembers(tool, members);
  const gated = tools.add(() => ({
    name,
    description: copy.description,
    inputSchema: copy.inputSchema ?? copy.parameters,
    outputSchema: copy.outputSchema,
  }));
  gatedTools.set(copy, gated);
  return copy;
}

/** LangChain's tools: `invoke`, `call`, `batch` and `stream` all come to `_call`, which may come to `func`. */
function gateLangChain(tool: JsonObject, what: string, tools: GatedTools): JsonObject {
  const { _call: call, func } = tool as { _call: Run; func?: unknown };
  const gate =
    (run: Run): Run =>
    (input, ...rest) => {
      const isText = typeof input === 'string' || input === undefined;
      const [, config] = rest;
      const { signal } = readObject(config);
      return gated.call({
        args: isText ? { input: input ?? '' } : input,
        framework: config,
        signal: signal instanceof AbortSignal ? signal : undefined,
        run: (args) => readReturned(Reflect.apply(run, tool, [isText ? args.input : args, ...rest])),
      });
    };
  const copy = withMembers(tool, { _call: gate(call), ...(isRun(func) ? { func: gate(func) } : {}) });
  const gated = tools.add(() => ({
    name: readName(copy.name, what),
    description: copy.description,
    inputSchema: isTextSchema(copy.schema) ? TEXT_INPUT : copy.schema,
    outputSchema: undefined,
  }));
  gatedTools.set(copy, gated);
  return copy;
}

const TEXT_INPUT = { type: 'object', properties: { input: { type: 'string' } } };

/** The schema of LangChain's tools that take a text: `{input}` of zod 3, transformed to the text. */
function isTextSchema(schema: unknown): boolean {
  const { typeName, schema: inner } = readObject(readObject(schema)._def);
  const { shape } = readObject(inner);
  return typeName === 'ZodEffects' && isObject(shape) && Object.keys(shape).join() === 'input';
}

/** Tools of the OpenAI Agents SDK: `invoke(runContext, input, details)`, the input a JSON text. */
function gateOpenAiAgents(tool: JsonObject, what: string, tools: GatedTools): JsonObject {
  const { invoke, needsApproval } = tool as { invoke: Run; needsApproval?: unknown };
  const copy = withMembers(tool, {
    invoke: async (run: unknown, input: unknown, details: unknown) => {
      const { signal } = readObject(details);
      try {
        return await gated.call({
          args: parseOrKeep(input),
          framework: run,
          isApproved: isApprovedInRun(run, readName(copy.name, what), details, parseOrKeep(input)),
          signal: signal instanceof AbortSignal ? signal : undefined,
          run: (args) => Reflect.apply(invoke, tool, [run, JSON.stringify(args), details]),
        });
      } catch (error) {
        // A throw would end the run. The model reads it, as it does other errors of tools.
        if (error instanceof PolicyDeniedError) return error.message;
        throw error;
      }
    },
    needsApproval: async (run: unknown, input: unknown, ...rest: unknown[]) => {
      const own: unknown = isRun(needsApproval)
        ? await Reflect.apply(needsApproval, tool, [run, input, ...rest])
        : needsApproval;
      const isAsked = await gated.needsPerson(parseOrKeep(input), run);
      if (isAsked) noteAsked(rest[0], readName(copy.name, what), parseOrKeep(input));
      return own === true || isAsked;
    },
  });
  const gated = tools.add(() => ({
    name: readName(copy.name, what),
    description: copy.description,
    inputSchema: copy.parameters,
    outputSchema: undefined,
  }));
  gatedTools.set(copy, gated);
  return copy;
}

/** The last thing that a tool yields: what comes before it would be seen before it is judged. */
async function readLast(given: unknown): Promise<unknown> {
  const value = await given;
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const part of value as AsyncIterable<unknown>) last = part;
  return last;
}

/** What a generator returns: LangChain takes what it yields for progress. */
async function readReturned(given: unknown): Promise<unknown> {
  const value = await given;
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value;
  const parts = (value as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  for (;;) {
    const part = await parts.next();
    if (part.done === true) return part.value;
  }
}
