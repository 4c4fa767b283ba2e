/**
 * G2, first half: the tools the servers list right now, each ready to be called or barred with a reason.
 */

import { ownTurn, type Steps, sliced, takeAll, takeInSlices } from '../base/index.ts';
import { type CompiledSchema, compileSteps, SchemaRefusedError, type StepBudget } from '../json/index.ts';
import type { ToolDefinition } from '../mcp-client/index.ts';
import { type Refusal, refusal } from './decision.ts';
import type { PinStore } from './pins.ts';
import {
  type DeclaredArguments,
  declaredArguments,
  definitionProblem,
  type ToolsByServer,
  toolHash,
  withSchemas,
} from './tool-definition.ts';

export interface CatalogTool {
  readonly server: string;
  readonly name: string;
  readonly definition: ToolDefinition;
  /** SHA-256 of the definition. */
  readonly hash: string;
  /** Set when the tool is barred: it is neither listed nor callable. */
  readonly barred: Refusal | undefined;
  /** The checks of this definition, compiled when first needed; absent when barred. */
  readonly checks: ToolChecks | undefined;
}

export interface ToolChecks {
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  readonly declared: DeclaredArguments;
  /** Patterns of its schemas that no engine here can run: the server checks them. */
  readonly unchecked: readonly string[];
  /** Keywords of its schemas that assert nothing, for they are written wrong: the server checks what it meant. */
  readonly ignored: readonly string[];
  readonly strictFormats: boolean;
  /** True when the schema declares an argument of this name, by `properties` or a pattern of `patternProperties`. */
  declares(name: string, budget: StepBudget): boolean;
}

export interface ToolCatalogOptions {
  readonly pins?: PinStore | undefined;
  /**
   * Whether a tool counts when two servers list one name: two that count bar each other. A tool is identified by server
   * and name, so one that cannot be called takes nothing away. @defaultValue every tool counts
   */
  readonly competes?: ((server: string, tool: string) => boolean) | undefined;
  /** Whether a rule names the tool. Only such tools are hashed and compiled before they are called. @defaultValue none is */
  readonly isNamed?: ((server: string, name: string) => boolean) | undefined;
  /** Keys of `_meta` that belong to the pinned definition. @defaultValue none */
  readonly metaKeys?: readonly string[] | undefined;
  /** Whether `format` is checked; without it formats are annotations, as JSON Schema 2020-12 has it. @defaultValue false */
  readonly strictFormats?: (() => boolean) | undefined;
}

/** A tool as it was listed. It is admitted when it is first looked at: most tools of a server never are. */
interface Listed {
  readonly definition: ToolDefinition;
  /** The server lists the name more than once. */
  isTwin: boolean;
  tool: CatalogTool | undefined;
}

type Listing = Map<string, Listed>;

export class ToolCatalog {
  readonly #options: ToolCatalogOptions;
  readonly #servers = new Map<string, Listing>();
  /** Listings asked for in slices, and the last one of each server that was adopted. */
  #refreshes = 0;
  readonly #adopted = new Map<string, number>();
  /** The servers that list a name, so that a duplicate is found without walking all of them. */
  readonly #serversByName = new Map<string, Set<string>>();

  #version = 0;

  constructor(options: ToolCatalogOptions = {}) {
    this.#options = options;
  }

  /** Goes up whenever a server lists other names than before. */
  get version(): number {
    return this.#version;
  }

  /** Replaces what a server lists. The old listing is gone when this returns: a removed tool is unknown. */
  setServer(server: string, tools: readonly ToolDefinition[]): void {
    const listing = toListing(tools);
    for (const name of this.#named(server, listing)) this.#pinFirst(server, name, listing);
    this.#adopt(server, listing);
  }

  /**
   * As {@link setServer}, in slices, for any number of tools.
   * @param all every tool that rules name is checked now, not only those without a pin.
   */
  async refreshServer(server: string, tools: readonly ToolDefinition[], all: boolean): Promise<void> {
    const turn = sliced();
    this.#refreshes += 1;
    const refresh = this.#refreshes;
    const listing = toListing(tools);
    for (const name of this.#named(server, listing)) {
      const listed = listing.get(name);
      // Hashing a definition for the first time takes long beside what the caller has done in this turn.
      if (this.#isUnpinned(server, name)) await ownTurn();
      this.#pinFirst(server, name, listing);
      if (all && listed !== undefined) {
        this.#admit(server, name, listed, false);
        await turn();
        await takeInSlices(this.#check(listed));
      }
      await turn();
    }
    // A listing that was asked for later may have been adopted meanwhile.
    if ((this.#adopted.get(server) ?? 0) > refresh) return;
    this.#adopted.set(server, refresh);
    this.#adopt(server, listing);
  }

  /** The first definition of a tool is the one that is pinned, not the first one that is looked at. */
  #pinFirst(server: string, name: string, listing: Listing): void {
    const listed = listing.get(name);
    if (listed !== undefined && this.#isUnpinned(server, name)) this.#admit(server, name, listed, false);
  }

  #isUnpinned(server: string, name: string): boolean {
    return this.#options.pins?.has(server, name) === false;
  }

  #adopt(server: string, listing: Listing): void {
    const before = this.#forget(server);
    if (before === undefined || !isSameNames(before, listing)) this.#version += 1;
    this.#servers.set(server, listing);
    for (const name of listing.keys()) {
      const servers = this.#serversByName.get(name) ?? new Set();
      this.#serversByName.set(name, servers.add(server));
    }
  }

  #named(server: string, listing: Listing | undefined): readonly string[] {
    return [...(listing?.keys() ?? [])].filter((name) => this.#options.isNamed?.(server, name));
  }

  /** Removes a server: none of its tools is listed or callable. */
  removeServer(server: string): void {
    if (this.#forget(server) !== undefined) this.#version += 1;
  }

  #forget(server: string): Listing | undefined {
    const listing = this.#servers.get(server);
    for (const name of listing?.keys() ?? []) {
      const servers = this.#serversByName.get(name);
      servers?.delete(server);
      if (servers?.size === 0) this.#serversByName.delete(name);
    }
    this.#servers.delete(server);
    return listing;
  }

  hasServer(server: string): boolean {
    return this.#servers.has(server);
  }

  names(server: string): readonly string[] {
    return [...(this.#servers.get(server)?.keys() ?? [])];
  }

  servers(): readonly string[] {
    return [...this.#servers.keys()];
  }

  /**
   * The tool; barred when another server lists the same name and both count.
   * @param isChecked whether its schemas are compiled, which a call that no rule allows does not need.
   */
  find(server: string, name: string, isChecked = true): CatalogTool | undefined {
    const listed = this.#servers.get(server)?.get(name);
    if (listed === undefined) return undefined;
    const tool = this.#admit(server, name, listed, isChecked);
    if (tool.barred !== undefined) return tool;
    const rivals = this.#rivals(server, name);
    return rivals.length === 0 ? tool : duplicate(tool, rivals.join(', '));
  }

  /**
   * Does in turns of the event loop what the first {@link find} of a tool that rules name would do in one: hash its
   * definition and compile its schemas, each of which may take long.
   */
  prepare(server: string, name: string): Promise<void> | undefined {
    const listed = this.#servers.get(server)?.get(name);
    const isReady = listed?.tool?.checks !== undefined || listed?.tool?.barred !== undefined;
    if (listed === undefined || isReady || this.#options.isNamed?.(server, name) === false) return undefined;
    return (async () => {
      await ownTurn();
      this.#admit(server, name, listed, false);
      await ownTurn();
      await takeInSlices(this.#check(listed));
      await ownTurn();
    })();
  }

  #rivals(server: string, name: string): readonly string[] {
    const twins = this.twins(server, name);
    const { competes = () => true } = this.#options;
    return twins.length > 0 && competes(server, name) ? twins.filter((other) => competes(other, name)) : [];
  }

  /** The other servers that list this name. */
  twins(server: string, name: string): readonly string[] {
    const servers = this.#serversByName.get(name);
    if (servers === undefined || servers.size < 2) return [];
    return [...servers].filter((other) => other !== server);
  }

  /** What every server lists under a name, and that this server lists others. */
  definitionsOf(server: string, name: string): ToolsByServer {
    const servers = [...(this.#servers.has(server) ? [server] : []), ...this.twins(server, name)];
    return Object.fromEntries(
      servers.map((id) => {
        const listed = this.#servers.get(id)?.get(name);
        const tools = listed === undefined ? [] : [listed.definition];
        return [id, { tools: listed?.isTwin === true ? [...tools, ...tools] : tools }];
      }),
    );
  }

  /** How a server lists a name, without a look at the definition. */
  listed(server: string, name: string): 'once' | 'twice' | undefined {
    const listed = this.#servers.get(server)?.get(name);
    return listed && (listed.isTwin ? 'twice' : 'once');
  }

  /** The tools that rules name, of a server or of all servers. */
  namedTools(server?: string): readonly CatalogTool[] {
    const ids = server === undefined ? this.servers() : [server];
    return ids.flatMap((id) =>
      this.#named(id, this.#servers.get(id)).map((name) => this.find(id, name) as CatalogTool),
    );
  }

  /** Every tool of every server. The schemas of tools that no rule names are not compiled. */
  tools(): readonly CatalogTool[] {
    return this.servers().flatMap((id) =>
      [...(this.#servers.get(id)?.keys() ?? [])].map(
        (name) => this.find(id, name, this.#options.isNamed?.(id, name)) as CatalogTool,
      ),
    );
  }

  #admit(server: string, name: string, listed: Listed, isChecked: boolean): CatalogTool {
    listed.tool ??= this.#identify(server, name, listed);
    if (isChecked) takeAll(this.#check(listed));
    return listed.tool;
  }

  /** Compiles the schemas of an identified tool, which is barred if they cannot be compiled. */
  *#check(listed: Listed): Steps<void> {
    const { tool } = listed;
    const strictFormats = this.#options.strictFormats?.() === true;
    if (tool === undefined || tool.barred !== undefined) return;
    if (tool.checks?.strictFormats === strictFormats) return;
    const checked = yield* withChecks(tool, strictFormats);
    // Who needed the tool meanwhile has the same checks.
    if (listed.tool === tool) listed.tool = checked;
  }

  /** Hashes the definition and compares it with its pin. */
  #identify(server: string, name: string, { definition, isTwin }: Listed): CatalogTool {
    const base = { server, name, definition, hash: '', checks: undefined };
    if (isTwin) return duplicate({ ...base, barred: undefined }, server);
    const problem = definitionProblem(definition);
    if (problem !== undefined) return { ...base, barred: refusal('tool_invalid', problem) };
    const hash = toolHash(definition, this.#options.metaKeys);
    const state = this.#options.pins?.check(server, name, hash) ?? 'approved';
    if (state === 'changed') {
      return { ...base, hash, barred: refusal('tool_changed', `The definition of '${name}' changed`) };
    }
    if (state === 'unapproved') {
      const message = `The definition of '${name}' is not approved`;
      return { ...base, hash, barred: refusal('tool_unapproved', message) };
    }
    return { ...base, hash, barred: undefined };
  }
}

function toListing(tools: readonly ToolDefinition[]): Listing {
  const listing: Listing = new Map();
  for (const listed of tools) {
    const definition = withSchemas(listed);
    const name = typeof definition?.name === 'string' ? definition.name : '';
    const twin = listing.get(name);
    if (twin === undefined) listing.set(name, { definition, isTwin: false, tool: undefined });
    else twin.isTwin = true;
  }
  return listing;
}

function isSameNames(before: Listing, after: Listing): boolean {
  if (before.size !== after.size) return false;
  for (const [name, { isTwin }] of after) if (before.get(name)?.isTwin !== isTwin) return false;
  return true;
}

/** The tool with its schemas compiled, or barred because they cannot be. */
function* withChecks(tool: CatalogTool, strictFormats: boolean): Steps<CatalogTool> {
  try {
    return { ...tool, checks: yield* compileChecks(tool.definition, strictFormats) };
  } catch (error) {
    if (!(error instanceof SchemaRefusedError)) throw error;
    return { ...tool, barred: refusal('tool_schema_refused', error.message) };
  }
}

function duplicate(tool: CatalogTool, other: string): CatalogTool {
  return { ...tool, barred: refusal('tool_duplicate', `The name '${tool.name}' is also used by ${other}`) };
}

function* compileChecks(definition: ToolDefinition, strictFormats: boolean): Steps<ToolChecks> {
  const options = { checksFormats: strictFormats, isForeign: true };
  const input = yield* compileSteps(definition.inputSchema, options);
  const { outputSchema } = definition;
  if (outputSchema === false)
    throw new SchemaRefusedError("'outputSchema' is false, so no result would fit it");
  const output = outputSchema === undefined ? undefined : yield* compileSteps(outputSchema, options);
  const declared = declaredArguments(definition.inputSchema);
  const { names, patterns } = declared;
  const patternProperties = Object.fromEntries(patterns.map((pattern) => [pattern, true]));
  const known =
    patterns.length === 0
      ? undefined
      : yield* compileSteps({ patternProperties, additionalProperties: false }, options);
  const declares: ToolChecks['declares'] = (name, budget) =>
    names.has(name) || known?.check({ [name]: true }, budget).valid === true;
  const unchecked = [...input.unchecked, ...(output?.unchecked ?? [])];
  const ignored = [...input.ignored, ...(output?.ignored ?? [])];
  return { input, output, declared, declares, unchecked, ignored, strictFormats };
}
