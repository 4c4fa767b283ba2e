/**
 * G2, first half: the tools the servers list right now, each ready to be called or barred with a reason.
 */

import { type CompiledSchema, compileLinear, compileSchema, SchemaRefusedError } from '../json/index.ts';
import type { ToolDefinition } from '../mcp-client/index.ts';
import type { PinStore } from './pins.ts';
import type { ReasonCode } from './reasons/index.ts';
import { type DeclaredArguments, declaredArguments, definitionProblem, toolHash } from './tool-definition.ts';

/** A tool of the catalog. */
export interface CatalogTool {
  readonly server: string;
  readonly name: string;
  readonly definition: ToolDefinition;
  /** SHA-256 of the definition. */
  readonly hash: string;
  /** Set when the tool is barred: it is neither listed nor callable. */
  readonly barred: { readonly reasonCode: ReasonCode; readonly message: string } | undefined;
  /** The checks of this definition, compiled once; present unless barred. */
  readonly checks: ToolChecks | undefined;
}

export interface ToolChecks {
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  readonly declared: DeclaredArguments;
  /** True when a pattern of `patternProperties` matches the name. */
  matchesPattern(name: string): boolean;
}

export interface ToolCatalogOptions {
  readonly pins?: PinStore | undefined;
  /** True while two servers may use one name. @defaultValue () => false: both tools are barred */
  readonly allowsDuplicates?: (() => boolean) | undefined;
  /** Keys of `_meta` that belong to the pinned definition. @defaultValue none */
  readonly metaKeys?: readonly string[] | undefined;
}

export class ToolCatalog {
  readonly #options: ToolCatalogOptions;
  readonly #servers = new Map<string, Map<string, CatalogTool>>();
  /** The servers that list a name, so that a duplicate is found without walking all of them. */
  readonly #serversByName = new Map<string, Set<string>>();

  constructor(options: ToolCatalogOptions = {}) {
    this.#options = options;
  }

  /** Replaces what a server lists. The old listing is gone when this returns: a removed tool is unknown. */
  setServer(server: string, tools: readonly ToolDefinition[]): void {
    this.removeServer(server);
    const entries = new Map<string, CatalogTool>();
    for (const definition of tools) {
      const name = typeof definition?.name === 'string' ? definition.name : '';
      const twin = entries.get(name);
      entries.set(name, twin === undefined ? this.#admit(server, name, definition) : duplicate(twin, server));
      const servers = this.#serversByName.get(name) ?? new Set();
      this.#serversByName.set(name, servers.add(server));
    }
    this.#servers.set(server, entries);
  }

  /** Removes a server: none of its tools is listed or callable. */
  removeServer(server: string): void {
    for (const name of this.#servers.get(server)?.keys() ?? []) this.#serversByName.get(name)?.delete(server);
    this.#servers.delete(server);
  }

  hasServer(server: string): boolean {
    return this.#servers.has(server);
  }

  servers(): readonly string[] {
    return [...this.#servers.keys()];
  }

  /** The tool; barred when another server lists the same name. */
  find(server: string, name: string): CatalogTool | undefined {
    const tool = this.#servers.get(server)?.get(name);
    if (tool === undefined || this.#options.allowsDuplicates?.() === true) return tool;
    const servers = this.#serversByName.get(name);
    if (servers === undefined || servers.size < 2 || tool.barred !== undefined) return tool;
    return duplicate(tool, [...servers].filter((other) => other !== server).join(', '));
  }

  /** Every tool of a server, or of all servers. */
  tools(server?: string): readonly CatalogTool[] {
    const ids = server === undefined ? this.servers() : [server];
    return ids.flatMap((id) =>
      [...(this.#servers.get(id)?.keys() ?? [])].map((name) => this.find(id, name) as CatalogTool),
    );
  }

  #admit(server: string, name: string, definition: ToolDefinition): CatalogTool {
    const base = { server, name, definition, hash: '', checks: undefined };
    const problem = definitionProblem(definition);
    if (problem !== undefined) return { ...base, barred: { reasonCode: 'tool_invalid', message: problem } };
    const hash = toolHash(definition, this.#options.metaKeys);
    const state = this.#options.pins?.check(server, name, hash) ?? 'approved';
    if (state === 'changed') {
      return {
        ...base,
        hash,
        barred: { reasonCode: 'tool_changed', message: `The definition of '${name}' changed` },
      };
    }
    if (state === 'unapproved') {
      const message = `The definition of '${name}' is not approved`;
      return { ...base, hash, barred: { reasonCode: 'tool_unapproved', message } };
    }
    try {
      return { ...base, hash, barred: undefined, checks: compileChecks(definition) };
    } catch (error) {
      if (!(error instanceof SchemaRefusedError)) throw error;
      return { ...base, hash, barred: { reasonCode: 'tool_schema_refused', message: error.message } };
    }
  }
}

function duplicate(tool: CatalogTool, other: string): CatalogTool {
  const message = `The name '${tool.name}' is also used by ${other}`;
  return { ...tool, barred: { reasonCode: 'tool_duplicate', message } };
}

function compileChecks(definition: ToolDefinition): ToolChecks {
  const input = compileSchema(definition.inputSchema);
  const output = definition.outputSchema === undefined ? undefined : compileSchema(definition.outputSchema);
  const declared = declaredArguments(definition.inputSchema);
  // The schema compiler has already accepted these patterns, so none throws here.
  const patterns = declared.patterns.map((pattern) => compileLinear(pattern));
  return {
    input,
    output,
    declared,
    matchesPattern: (name) => patterns.some((pattern) => pattern.test(name)),
  };
}
