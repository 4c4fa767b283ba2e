import { checkKinds, checkValue, kinds } from '../../base/index.ts';
import type { CallableTool, ServerTool } from '../../mcp-client/index.ts';
import { type ConvertedSchema, convertSchema, type ToolProvider } from './convert.ts';
import type { RelaxedConstraint, Schema } from './json-schema.ts';
import { type Arguments, mapArguments } from './map-arguments.ts';
import { chooseToolNames, type NamespaceMode } from './tool-names.ts';

export interface AdaptToolsOptions {
  /** Whether the server's name stands before the tool's. @defaultValue 'collision' */
  readonly namespace?: NamespaceMode | undefined;
}

/** A tool in the form a provider takes, and the way back to the server's. */
export interface AdaptedTool {
  /** Safe for the provider and unique. */
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, acceptable to the provider. */
  readonly parameters: { readonly [keyword: string]: unknown };
  readonly server: string;
  /** The tool as its server defines it. */
  readonly tool: CallableTool;
  /** Constraints of the tool's own schema that `parameters` can only say in words, so a model may break them. */
  readonly relaxed: readonly RelaxedConstraint[];
  /** Turns arguments for `parameters` into arguments for the server's tool. Never changes its input. */
  mapArguments(args: Arguments): Arguments;
}

/** A tool that is not offered to the model, because the provider would refuse the whole request. */
export interface UnsupportedTool {
  readonly server: string;
  readonly name: string;
  readonly reason: string;
}

/**
 * Adapts tools to a provider: safe unique names, schemas in the dialect the provider takes, arguments mapped back. A
 * tool that cannot be made acceptable is unsupported with the reason and the others stand. The input is not changed.
 */
export function adaptTools(
  tools: readonly ServerTool[],
  provider: ToolProvider,
  options: AdaptToolsOptions = {},
): AdaptedTools {
  checkValue('the tools of adaptTools()', tools, kinds.list);
  checkValue('the provider of adaptTools()', provider, kinds.string);
  checkKinds(options, { namespace: kinds.string }, 'adaptTools()');
  const names = chooseToolNames(
    tools.map(({ server, tool }) => ({ server, name: tool.name })),
    options.namespace,
  );
  const adapted: AdaptedTool[] = [];
  const unsupported: UnsupportedTool[] = [];
  tools.forEach(({ server, tool }, i) => {
    try {
      const converted = convertSchema(tool.inputSchema as Schema, provider);
      adapted.push(adapt(names[i] as string, server, tool, converted));
    } catch (error) {
      // Whatever a schema holds, it must not cost the other tools.
      unsupported.push({
        server,
        name: tool.name,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  });
  return new AdaptedTools(adapted, unsupported);
}

function adapt(name: string, server: string, tool: CallableTool, converted: ConvertedSchema): AdaptedTool {
  const { parameters, relaxed, mapping } = converted;
  const description = tool.description ?? tool.title;
  return {
    name,
    ...(description !== undefined && description !== '' && { description }),
    parameters,
    server,
    tool,
    relaxed,
    mapArguments: (args) => mapArguments(args, mapping),
  };
}

/** The tools offered to a model, with the names in both directions. */
export class AdaptedTools {
  readonly tools: readonly AdaptedTool[];
  readonly unsupported: readonly UnsupportedTool[];
  readonly #byName: ReadonlyMap<string, AdaptedTool>;
  readonly #byOrigin: ReadonlyMap<string, string>;

  constructor(tools: readonly AdaptedTool[], unsupported: readonly UnsupportedTool[]) {
    this.tools = tools;
    this.unsupported = unsupported;
    this.#byName = new Map(tools.map((each) => [each.name, each]));
    this.#byOrigin = new Map(tools.map((each) => [originKey(each.server, each.tool.name), each.name]));
  }

  /** The tool a model means by a name, or undefined when there is none. */
  find(name: string): AdaptedTool | undefined {
    return this.#byName.get(name);
  }

  /** The name under which a server's tool is offered, or undefined when it is not. */
  nameOf(server: string, tool: string): string | undefined {
    return this.#byOrigin.get(originKey(server, tool));
  }
}

function originKey(server: string, tool: string): string {
  return JSON.stringify([server, tool]);
}
