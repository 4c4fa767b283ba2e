/**
 * Pins: which tool definitions an operator has approved, by configured server id and tool name.
 *
 * A pin is never updated by the gate itself: a changed definition stays refused until someone approves
 * it. (A gate that stores the new fingerprint when it reports a change lets the second call through.)
 */

import { readFileSync } from 'node:fs';
import { checkOptions, checkValue, kinds, ObservatoryError, writePrivateFileSync } from '../base/index.ts';
import { FILE_LIMITS, isObject, type JsonLimits, parseStrictJson, redactValue } from '../json/index.ts';
import type { ToolDefinition } from '../mcp-client/index.ts';
import { toolHash } from './tool-definition.ts';

/** How a definition compares with its pin. */
export type PinState = 'approved' | 'unapproved' | 'changed';

/** Most definitions pinned on first use: a server that keeps listing new names must not fill the memory. */
const MAX_FIRST_USES = 100_000;

const HASH = /^[0-9a-f]{64}$/;

/** A pin file holds whole definitions: 64 MiB, 10,000,000 values. */
const PIN_LIMITS: JsonLimits = {
  ...FILE_LIMITS,
  maxBytes: 67_108_864,
  maxValues: 10_000_000,
  largeIntegers: 'text',
};

interface Pin {
  readonly hash: string;
  /** What was approved, to show how a changed tool differs from it. */
  readonly definition: ToolDefinition | undefined;
}

export class PinStore {
  readonly #pins = new Map<string, Map<string, Pin>>();
  /** True when a tool without a pin is pinned when first seen (trust on first use). */
  readonly #trustsFirstUse: boolean;
  #firstUses = 0;

  /** @param options.trustFirstUse pin what is seen first; by default only approved tools pass. */
  constructor(options: { readonly trustFirstUse?: boolean | undefined } = {}) {
    checkOptions(options, { trustFirstUse: kinds.boolean }, 'PinStore');
    this.#trustsFirstUse = options.trustFirstUse ?? false;
  }

  /**
   * Reads a pin file (schema/pins.schema.json): `{"version": 1, "pins": {"<server>": {"<tool>": "<sha256>"}}}`, and the
   * approved definitions in the same form under `definitions`, if it was written by `mcp-observatory gate pin`.
   * @throws ObservatoryError `POLICY_INVALID` when it is missing, unreadable or malformed.
   */
  static fromFile(path: string): PinStore {
    checkValue("the path of 'PinStore.fromFile()'", path, kinds.string);
    let value: unknown;
    try {
      value = parseStrictJson(readFileSync(path), PIN_LIMITS);
    } catch (cause) {
      throw new ObservatoryError(
        'POLICY_INVALID',
        `The pin file '${path}' cannot be used: ${(cause as Error).message}. Write one with 'mcp-observatory gate pin'`,
        { cause },
      );
    }
    const store = new PinStore();
    const problem = store.#load(value);
    if (problem !== undefined) {
      throw new ObservatoryError('POLICY_INVALID', `The pin file '${path}' cannot be used: ${problem}`);
    }
    return store;
  }

  #load(value: unknown): string | undefined {
    if (!isObject(value) || value.version !== 1 || !isObject(value.pins)) {
      return 'expected {"version": 1, "pins": {...}}';
    }
    for (const [server, tools] of Object.entries(value.pins)) {
      if (!isObject(tools)) return `the pins of '${server}' are an object`;
      for (const [tool, hash] of Object.entries(tools)) {
        if (typeof hash !== 'string' || !HASH.test(hash))
          return `the pin of '${server}/${tool}' is a SHA-256 in hex`;
        this.approve(server, tool, hash, definitionIn(value.definitions, server, tool));
      }
    }
    return undefined;
  }

  /** Whether any definition of the tool is pinned. */
  has(server: string, tool: string): boolean {
    return this.#pins.get(server)?.has(tool) === true;
  }

  /** Compares a definition with its pin; with trust on first use an unknown tool is pinned. */
  check(server: string, tool: string, hash: string): PinState {
    const pin = this.#pins.get(server)?.get(tool)?.hash;
    if (pin === undefined) {
      if (!this.#trustsFirstUse || this.#firstUses >= MAX_FIRST_USES) return 'unapproved';
      this.#firstUses += 1;
      this.approve(server, tool, hash);
      return 'approved';
    }
    return pin === hash ? 'approved' : 'changed';
  }

  /** What was approved; undefined where the file does not say, or says something that has another hash. */
  approvedDefinition(server: string, tool: string): ToolDefinition | undefined {
    const pin = this.#pins.get(server)?.get(tool);
    if (pin?.definition === undefined) return undefined;
    return toolHash(pin.definition) === pin.hash ? pin.definition : undefined;
  }

  /** The names of the tools of a server that have a pin. */
  toolsOf(server: string): readonly string[] {
    return [...(this.#pins.get(server)?.keys() ?? [])];
  }

  /** Approves a definition. Only call it when a person has approved it. */
  approve(server: string, tool: string, hash: string, definition?: ToolDefinition): void {
    let tools = this.#pins.get(server);
    if (tools === undefined) {
      tools = new Map();
      this.#pins.set(server, tools);
    }
    tools.set(tool, { hash, definition });
  }

  /**
   * Writes the pin file atomically. Of a definition with a secret of a known form it has the hash alone.
   * @throws ObservatoryError `INVALID_OPTION` when the file cannot be written.
   */
  save(path: string): void {
    const pins = this.#each(({ hash }) => hash);
    const definitions = this.#each(({ definition }) => (holdsSecret(definition) ? undefined : definition));
    const text = `${JSON.stringify({ version: 1, pins, definitions }, null, 2)}\n`;
    try {
      writePrivateFileSync(path, text);
    } catch (cause) {
      const why = (cause as Error).message;
      throw new ObservatoryError('INVALID_OPTION', `The pin file '${path}' cannot be written: ${why}`, {
        cause,
      });
    }
  }

  /** By server and tool, in the order of the tools' names. */
  #each<T>(take: (pin: Pin) => T): Record<string, Record<string, T>> {
    const servers = [...this.#pins].map(([server, tools]) => {
      const taken = [...tools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([tool, pin]) => [tool, take(pin)]);
      return [server, Object.fromEntries(taken)];
    });
    return Object.fromEntries(servers);
  }
}

function holdsSecret(definition: ToolDefinition | undefined): boolean {
  return JSON.stringify(redactValue(definition)) !== JSON.stringify(definition);
}

function definitionIn(definitions: unknown, server: string, tool: string): ToolDefinition | undefined {
  const tools = isObject(definitions) && Object.hasOwn(definitions, server) ? definitions[server] : undefined;
  const definition = isObject(tools) && Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  return isObject(definition) ? (definition as unknown as ToolDefinition) : undefined;
}
