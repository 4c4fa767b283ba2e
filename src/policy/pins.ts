/**
 * Pins: which tool definitions an operator has approved, by configured server id and tool name.
 *
 * A pin is never updated by the gate itself: a changed definition stays refused until someone approves
 * it. (A gate that stores the new fingerprint when it reports a change lets the second call through.)
 */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ObservatoryError } from '../base/index.ts';
import { FILE_LIMITS, isObject, parseStrictJson } from '../json/index.ts';

/** How a definition compares with its pin. */
export type PinState = 'approved' | 'unapproved' | 'changed';

/** Most definitions pinned on first use: a server that keeps listing new names must not fill the memory. */
const MAX_FIRST_USES = 100_000;

const HASH = /^[0-9a-f]{64}$/;

export class PinStore {
  readonly #pins = new Map<string, Map<string, string>>();
  /** True when a tool without a pin is pinned when first seen (trust on first use). */
  readonly #trustsFirstUse: boolean;
  #firstUses = 0;

  /** @param options.trustFirstUse pin what is seen first; by default only approved tools pass. */
  constructor(options: { readonly trustFirstUse?: boolean | undefined } = {}) {
    this.#trustsFirstUse = options.trustFirstUse ?? false;
  }

  /**
   * Reads a pin file: `{"version": 1, "pins": {"<server>": {"<tool>": "<sha256>"}}}` (schema/pins.schema.json).
   * @throws ObservatoryError `POLICY_INVALID` when it is missing, unreadable or malformed.
   */
  static fromFile(path: string): PinStore {
    let value: unknown;
    try {
      value = parseStrictJson(readFileSync(path), FILE_LIMITS);
    } catch (cause) {
      throw new ObservatoryError(
        'POLICY_INVALID',
        `The pin file '${path}' cannot be used: ${(cause as Error).message}. Write one with PinStore.save()`,
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
        this.approve(server, tool, hash);
      }
    }
    return undefined;
  }

  /** Compares a definition with its pin; with trust on first use an unknown tool is pinned. */
  check(server: string, tool: string, hash: string): PinState {
    const pin = this.#pins.get(server)?.get(tool);
    if (pin === undefined) {
      if (!this.#trustsFirstUse || this.#firstUses >= MAX_FIRST_USES) return 'unapproved';
      this.#firstUses += 1;
      this.approve(server, tool, hash);
      return 'approved';
    }
    return pin === hash ? 'approved' : 'changed';
  }

  /** Approves a definition. Only call it when a person has approved it. */
  approve(server: string, tool: string, hash: string): void {
    let tools = this.#pins.get(server);
    if (tools === undefined) {
      tools = new Map();
      this.#pins.set(server, tools);
    }
    tools.set(tool, hash);
  }

  /** Writes the pin file atomically. */
  save(path: string): void {
    const pins = Object.fromEntries(
      [...this.#pins].map(([server, tools]) => [server, Object.fromEntries([...tools].sort())]),
    );
    const temporary = `${path}.${process.pid}.tmp`;
    writeFileSync(temporary, `${JSON.stringify({ version: 1, pins }, null, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, path);
  }
}
