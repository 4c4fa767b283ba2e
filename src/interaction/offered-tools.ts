/** The tools a model call offers, in the form of any provider or framework. */
import { isObject, type JsonObject, parseContainerOrKeep, readList, stringAt } from '../json/index.ts';
import type { ToolDefinitionView } from '../signals/index.ts';
import { listedTools } from './listed-tools.ts';

export interface ToolOffer {
  /** The object that holds the definition: the same one in later calls, as long as the application keeps it. */
  readonly source: object;
  /** Absent for a tool that the provider defines and runs, whose definition it does not show. */
  readonly definition?: ToolDefinitionView | undefined;
  /** As the model gets it. */
  readonly name: string;
}

/** More are not read. */
export const MAX_OFFERED_TOOLS = 2_048;
const MAX_NAME = 200;

/**
 * Reads a list of tools: OpenAI's chat and responses APIs, Anthropic, Gemini, Bedrock, MCP, `gen_ai.tool.definitions` as a JSON
 * text or a value. Tools that the model is not shown before it searches for them are left out.
 */
export function readOfferedTools(tools: unknown): readonly ToolOffer[] {
  const found: ToolOffer[] = [];
  for (const item of readList(parseContainerOrKeep(tools))) {
    if (found.length >= MAX_OFFERED_TOOLS) break;
    const tool = parseContainerOrKeep(item);
    if (!isObject(tool) || tool.defer_loading === true) continue;
    const declarations = tool.functionDeclarations ?? tool.function_declarations;
    if (!Array.isArray(declarations)) found.push(readTool(tool));
    else
      for (const one of declarations.slice(0, MAX_OFFERED_TOOLS))
        if (isObject(one)) found.push(readTool(one));
  }
  return found.slice(0, MAX_OFFERED_TOOLS);
}

function readTool(source: JsonObject): ToolOffer {
  const given = [source.function, source.toolSpec].find(isObject) ?? source;
  const name = stringAt(given, 'name');
  const schema = SCHEMAS.map((key) => given[key]).find((value) => value !== undefined && value !== null);
  const description = stringAt(given, 'description');
  if (name === undefined || (schema === undefined && description === undefined)) {
    return { source, name: (name ?? stringAt(source, 'type') ?? firstKey(source)).slice(0, MAX_NAME) };
  }
  // The AI SDK's and Bedrock's wrappers.
  const inner = isObject(schema) ? (given === source.toolSpec ? schema.json : schema.jsonSchema) : undefined;
  const plain = isObject(inner) ? inner : schema;
  const definition = { name: name.slice(0, MAX_NAME), description: description ?? '', schema: plain };
  return { source, name: definition.name, definition };
}

const SCHEMAS = [
  'parameters',
  'input_schema',
  'inputSchema',
  'parametersJsonSchema',
  'parameters_json_schema',
] as const;

function firstKey(tool: JsonObject): string {
  for (const key in tool) return key;
  return '';
}

export interface ServerToolName {
  /** The name the server gives itself; empty where it is not known. */
  readonly server: string;
  readonly tool: string;
}

/** Between the name of a server and that of a tool, where a host joins them. */
const SEPARATOR = /[_\-./:]/;

/**
 * Where an offered tool comes from: the server that listed a tool of its name in this process, or of the rest of its
 * name after a prefix, such as `mcp__github__search`. Of several servers, the one whose description it has.
 */
export function toServerTool({ name, definition }: ToolOffer): ServerToolName {
  const listed = listedTools();
  if (listed.size === 0) return { server: '', tool: name };
  for (let at = 0; at < name.length; at += 1) {
    if (at > 0 && !SEPARATOR.test(name[at - 1] as string)) continue;
    const tool = name.slice(at);
    const servers = listed.get(tool);
    if (servers === undefined) continue;
    const [server] = narrowed(
      [...servers],
      [
        ([, { isOwnName }]) => isOwnName,
        ([, { description }]) => description === definition?.description.slice(0, MAX_NAME),
        ([server]) => isIn(server, name),
      ],
    );
    if (server !== undefined) return { server: server[0], tool };
  }
  return { server: '', tool: name };
}

/** What passes the tests, each of which counts only if anything passes it; empty if more than one is left. */
function narrowed<T>(all: readonly T[], tests: readonly ((item: T) => boolean)[]): readonly T[] {
  let left = all;
  for (const test of tests) {
    const passing = left.filter(test);
    if (passing.length > 0) left = passing;
  }
  return left.length === 1 ? left : [];
}

function isIn(server: string, name: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return plain(name).startsWith(plain(server));
}
