import { diag } from '@opentelemetry/api';
import { ObservatoryError } from '../../errors.ts';
import { callTool } from './call.ts';
import type { ServerConfig } from './config.ts';
import type { LinkHooks, OpenLink, ServerLink } from './link.ts';
import type { ConnectionOptions } from './options.ts';
import { compileOutputCheck, type OutputCheck } from './output-schema.ts';
import { listAllTools, type ToolList } from './tool-list.ts';
import type { JsonObject, RejectedTool, ToolCallOptions, ToolCallOutcome, ToolDefinition } from './types.ts';
import { DEFAULT_CONNECT_TIMEOUT_MS, notReadyWithin, unavailable } from './unavailable.ts';

/**
 * - `connecting`: being started or reached.
 * - `ready`: tools can be called.
 * - `failed`: never became ready; `error` says why.
 * - `dead`: was ready and is gone; `error` says why.
 * - `closed`: closed by its owner.
 */
export type ServerState = 'connecting' | 'ready' | 'failed' | 'dead' | 'closed';

const NO_TOOLS: ToolList = { tools: [], rejected: [], truncated: false };

/** One server: its connection, its tools, and how it is faring. */
export class ServerConnection {
  readonly name: string;
  readonly #config: ServerConfig;
  readonly #options: ConnectionOptions;
  readonly #onToolsChanged: (connection: ServerConnection) => void;
  readonly #openLink: OpenLink;
  readonly #closing: AbortController = new AbortController();
  #state: ServerState = 'connecting';
  #error: ObservatoryError | undefined;
  #link: ServerLink | undefined;
  #opening: Promise<void> | undefined;
  #ending: Promise<void> = Promise.resolve();
  #wasReady = false;
  #reconnects = 0;
  #list: ToolList = NO_TOOLS;
  #toolsByName: ReadonlyMap<string, ToolDefinition> = new Map();
  #outputChecks: Map<string, OutputCheck | undefined> = new Map();
  #refreshing: Promise<void> | undefined;
  #refreshAgain = false;

  constructor(
    config: ServerConfig,
    options: ConnectionOptions,
    onToolsChanged: (connection: ServerConnection) => void,
    openLink: OpenLink,
  ) {
    this.name = config.name;
    this.#config = config;
    this.#options = options;
    this.#onToolsChanged = onToolsChanged;
    this.#openLink = openLink;
  }

  get state(): ServerState {
    return this.#state;
  }

  /** Why the server failed or died. */
  get error(): ObservatoryError | undefined {
    return this.#error;
  }

  get tools(): readonly ToolDefinition[] {
    return this.#list.tools;
  }

  /** Tools the server lists in a form that cannot be used. */
  get rejectedTools(): readonly RejectedTool[] {
    return this.#list.rejected;
  }

  /** True when the server has more tools than were read. */
  get toolsTruncated(): boolean {
    return this.#list.truncated;
  }

  /** Process id of a stdio server; of its wrapper where there is one. */
  get pid(): number | undefined {
    return this.#link?.pid;
  }

  /** `v1` or `v2`, the client that speaks to the server. */
  get sdk(): 'v1' | 'v2' | undefined {
    return this.#link?.session.sdk;
  }

  get protocolVersion(): string | undefined {
    return this.#link?.session.protocolVersion;
  }

  get serverInfo(): JsonObject | undefined {
    return this.#link?.session.serverInfo;
  }

  /** What the server says about its use; meant for the system prompt. */
  get instructions(): string | undefined {
    return this.#link?.session.instructions;
  }

  /** The last 16 KiB a stdio server wrote to stderr. */
  get stderr(): string {
    return this.#link?.stderr() ?? '';
  }

  /** Starts or reaches the server and reads its tools. Never rejects: a failure becomes `state` and `error`. */
  connect(signal?: AbortSignal): Promise<void> {
    this.#opening ??= this.#open(signal).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Calls a tool; see {@link ToolCallOutcome} for the ends it can have. Rejects only when there is no such tool. */
  async callTool(name: string, args: JsonObject, options: ToolCallOptions = {}): Promise<ToolCallOutcome> {
    if (this.#state === 'dead' && this.#reconnects < (this.#options.maxReconnects ?? 0)) {
      this.#reconnects++;
      await this.connect(options.signal);
    } else {
      await this.#opening;
    }
    const link = this.#link;
    if (link === undefined || this.#state !== 'ready') {
      const why = this.#error?.message ?? `Server "${this.name}" is ${this.#state}.`;
      return { kind: 'transport_error', message: why, cause: this.#error, durationMs: 0 };
    }
    const tool = this.#toolsByName.get(name);
    if (tool === undefined) {
      throw new ObservatoryError(
        'INVALID_OPTION',
        `Server "${this.name}" has no tool "${name}"; it has ${this.#list.tools.length} tools.`,
      );
    }
    const outcome = await callTool(tool, args, options, {
      session: link.session,
      server: this.name,
      outputCheck: this.#outputCheck(tool),
      causeOfDeath: () =>
        this.#link === link && this.#state === 'ready'
          ? undefined
          : (this.#error?.message ?? `Server "${this.name}" was closed.`),
    });
    if (outcome.kind === 'ok') this.#reconnects = 0;
    return outcome;
  }

  /** True while tools the server announced as changed are being read. */
  get toolsUnsettled(): boolean {
    return this.#refreshing !== undefined;
  }

  /** Resolves when every announced change of tools has been read, or could not be. Never rejects. */
  async toolsSettled(): Promise<void> {
    while (this.#refreshing !== undefined) await this.#refreshing;
  }

  /** Reads the tool list again. @throws what the server or its connection answered. */
  async refreshTools(): Promise<void> {
    const link = this.#link;
    if (link === undefined || this.#state !== 'ready') return;
    const deadline = new Deadline(
      this.#options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
      this.#closing.signal,
    );
    try {
      const list = await this.#readTools(link, deadline.signal);
      if (this.#link === link) this.#setTools(list);
    } finally {
      deadline.clear();
    }
  }

  /** Ends the connection and, for a stdio server, its whole process tree. Never rejects. */
  async close(): Promise<void> {
    if (this.#state !== 'failed' && this.#state !== 'dead') this.#state = 'closed';
    this.#closing.abort(new Error('closed'));
    await this.#opening;
    if (this.#state !== 'failed' && this.#state !== 'dead') this.#state = 'closed';
    this.#endLink();
    await this.#ending;
  }

  async #open(signal: AbortSignal | undefined): Promise<void> {
    await this.#ending;
    if (this.#closing.signal.aborted) return;
    this.#state = 'connecting';
    const limitMs = this.#options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
    const deadline = new Deadline(limitMs, this.#closing.signal, signal);
    const hooks: LinkHooks = {
      onToolsChanged: () => this.#scheduleRefresh(),
      onLost: (link, cause) => this.#die(link, cause),
    };
    let link: ServerLink | undefined;
    try {
      link = await this.#openLink(this.#config, this.#options, deadline.signal, hooks);
      const list = await this.#readTools(link, deadline.signal);
      if (link.lost() !== undefined) throw new Error(link.lost());
      this.#link = link;
      this.#setTools(list);
      this.#error = undefined;
      this.#state = 'ready';
      this.#wasReady = true;
    } catch (cause) {
      const why = deadline.passed ? notReadyWithin(limitMs) : undefined;
      this.#state = this.#closing.signal.aborted ? 'closed' : this.#wasReady ? 'dead' : 'failed';
      this.#error = unavailable(this.name, cause, why, link?.stderr());
      await link?.close();
    } finally {
      deadline.clear();
    }
  }

  async #readTools(link: ServerLink, signal: AbortSignal): Promise<ToolList> {
    if (link.session.capabilities.tools === undefined) return NO_TOOLS;
    return listAllTools(link.session, signal, {
      maxPages: this.#options.maxToolPages,
      maxTools: this.#options.maxTools,
    });
  }

  #setTools(list: ToolList): void {
    this.#list = list;
    this.#toolsByName = new Map(list.tools.map((each) => [each.name, each]));
    this.#outputChecks = new Map();
    if (list.truncated)
      diag.warn(`mcp-observatory: server "${this.name}" has more tools than the ${list.tools.length} read`);
    for (const { name, reason } of list.rejected)
      diag.warn(`mcp-observatory: tool "${name}" of server "${this.name}" is left out: ${reason}`);
  }

  #outputCheck(tool: ToolDefinition): OutputCheck | undefined {
    if (!this.#outputChecks.has(tool.name)) {
      const check = compileOutputCheck(tool, (reason) =>
        diag.warn(`mcp-observatory: the outputSchema of "${tool.name}" cannot be checked: ${reason}`),
      );
      this.#outputChecks.set(tool.name, check);
    }
    return this.#outputChecks.get(tool.name);
  }

  /** One refresh at a time; a change during one is followed by one more, however many came. */
  #scheduleRefresh(): void {
    if (this.#refreshing !== undefined) {
      this.#refreshAgain = true;
      return;
    }
    this.#refreshing = this.refreshTools()
      .then(() => this.#onToolsChanged(this))
      .catch((error: unknown) =>
        diag.warn(`mcp-observatory: reading the changed tools of "${this.name}" failed`, error),
      )
      .finally(() => {
        this.#refreshing = undefined;
        if (!this.#refreshAgain) return;
        this.#refreshAgain = false;
        this.#scheduleRefresh();
      });
  }

  #die(link: ServerLink, cause: string): void {
    if (this.#link !== link || this.#state !== 'ready') return;
    this.#state = 'dead';
    this.#error = unavailable(this.name, undefined, cause, link.stderr());
    this.#endLink();
  }

  #endLink(): void {
    const link = this.#link;
    if (link !== undefined) this.#ending = link.close();
  }
}

/** A timeout and any number of signals as one signal. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #sources: readonly AbortSignal[];
  passed = false;

  constructor(limitMs: number, ...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter((source) => source !== undefined);
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#controller.abort(new Error('timed out'));
    }, limitMs);
    for (const source of this.#sources) {
      if (source.aborted) this.#onAbort();
      source.addEventListener('abort', this.#onAbort);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  clear(): void {
    clearTimeout(this.#timer);
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#controller.abort(new Error('cancelled'));
}
