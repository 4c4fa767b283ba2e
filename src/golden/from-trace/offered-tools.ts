import { isDeepStrictEqual } from 'node:util';
import { semconv } from '../../base/index.ts';
import type { RequestedToolCall } from '../../interaction/index.ts';
import { type JsonObject, parseContainerOrKeep } from '../../json/index.ts';
import type { McpCall } from '../file/index.ts';
import { type SpanRow, textAt } from './spans.ts';

/** A call of a server's tool, and its span. */
export interface StoredCall {
  readonly span: SpanRow;
  readonly call: McpCall;
}

/** Between server and tool in the names that `mcpGhost` gives to models. */
const SEPARATOR = '__';

interface Named {
  readonly server: string;
  readonly tool: string;
}

/**
 * The tools of each server, from the definitions that models were given: those that were called, those that have the same
 * prefix, and, where names have none, of the first server all that the program did not run itself.
 * @param isGhost names are those of `mcpGhost`, which tell the server.
 */
export function toolsByServer(
  offered: readonly JsonObject[],
  asked: readonly RequestedToolCall[],
  calls: readonly StoredCall[],
  isGhost: boolean,
): ReadonlyMap<string, readonly JsonObject[]> {
  const named = findNamed(asked, calls);
  const own = new Set(asked.map(({ name = '' }) => name).filter((name) => !named.has(name)));
  const prefixes = [...named].flatMap(([name, { server, tool }]) =>
    name !== tool && name.endsWith(tool) ? [{ server, prefix: name.slice(0, -tool.length) }] : [],
  );
  const found = new Map<string, Map<string, JsonObject>>();
  const add = ({ server, tool }: Named, definition: JsonObject): void => {
    const tools = found.get(server) ?? new Map<string, JsonObject>();
    found.set(server, tools.set(tool, { name: tool, ...definition }));
  };
  for (const { call } of calls) add(call, { inputSchema: { type: 'object' } });
  const [first] = found.keys();
  const findPlace = (name: string): Named | undefined => {
    const known = named.get(name);
    if (known !== undefined || own.has(name)) return known;
    const match = prefixes.find(({ prefix }) => name.startsWith(prefix));
    if (match !== undefined) return { server: match.server, tool: name.slice(match.prefix.length) };
    const cut = name.indexOf(SEPARATOR);
    if (isGhost)
      return cut > 0 ? { server: name.slice(0, cut), tool: name.slice(cut + SEPARATOR.length) } : undefined;
    return first === undefined || prefixes.length > 0 ? undefined : { server: first, tool: name };
  };
  const latest = new Map(offered.map((definition) => [definition.name, definition]));
  for (const { name, description, parameters } of latest.values()) {
    const place = findPlace(String(name));
    if (place === undefined) continue;
    const given = calls.flatMap(({ call }) => (call.tool === place.tool ? [call.arguments] : []));
    add(place, { description, inputSchema: loosened(parameters as JsonObject, given) });
  }
  return new Map([...found].map(([server, tools]) => [server, [...tools.values()]]));
}

/**
 * Server and tool by the name that the model used: by the id of the call, else by the end of the name; of servers that
 * have tools of one name, that which got the arguments.
 */
function findNamed(
  asked: readonly RequestedToolCall[],
  calls: readonly StoredCall[],
): ReadonlyMap<string, Named> {
  const found = new Map<string, Named>();
  for (const { id, name = '', arguments: given } of asked) {
    if (found.has(name)) continue;
    const args = parseContainerOrKeep(given);
    const taken = [...found.values()];
    const ending = calls.filter(
      ({ call: { tool } }) =>
        name === tool || (name.endsWith(tool) && /\W|_/.test(name.at(-tool.length - 1) ?? '')),
    );
    const free = ending.filter(
      ({ call }) => !taken.some(({ server, tool }) => server === call.server && tool === call.tool),
    );
    const match =
      calls.find(({ span }) => id !== undefined && textAt(span, semconv.ATTR_GEN_AI_TOOL_CALL_ID) === id) ??
      free.find(({ call }) => isDeepStrictEqual(call.arguments, args)) ??
      free[0] ??
      ending[0];
    if (match !== undefined) found.set(name, match.call);
  }
  return found;
}

/** Some programs require every argument of a model, and leave out of the call what it did not give. */
function loosened(schema: JsonObject, given: readonly JsonObject[]): JsonObject {
  const { properties, required } = schema;
  if (!Array.isArray(required) || required.length < Object.keys(properties ?? {}).length) return schema;
  return { ...schema, required: required.filter((name) => given.every((args) => String(name) in args)) };
}
