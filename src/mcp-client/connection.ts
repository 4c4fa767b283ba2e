import { setMaxListeners } from 'node:events';
import { diag } from '@opentelemetry/api';
import { ObservatoryError, warnVisibly } from '../base/index.ts';
import { noteListedTools } from '../interaction/index.ts';
import type { JsonObject } from '../json/index.ts';
import { type CallContext, callTool, readResource } from './call.ts';
import type { ServerConfig } from './config.ts';
import { wantedTools } from './config-members.ts';
import { Deadline } from './deadline.ts';
import { findExpiry } from './http-answer.ts';
import { NeverRan, SessionExpired } from './http-refusal.ts';
import type { LinkHooks, OpenLink, ServerLink } from './link.ts';
import { ServerTools, ToolRefresh } from './server-tools.ts';
import { readToolList } from './tool-list.ts';
import type {
  CallableTool,
  ConnectionOptions,
  RejectedTool,
  ToolCallOptions,
  ToolCallOutcome,
} from './types.ts';
import {
  DEFAULT_CONNECT_TIMEOUT_MS,
  goneBecause,
  notReadyWithin,
  readReason,
  unavailable,
} from './unavailable.ts';

/** How long a server that announces no tools may take to say so. */
const UNANNOUNCED_TIMEOUT_MS = 3_000;

/**
 * - `connecting`: being started or reached.
 * - `ready`: tools can be called.
 * - `failed`: never became ready; `error` says why.
 * - `dead`: was ready and is gone; `error` says why.
 * - `closed`: closed by its owner.
 */
export type ServerState = 'connecting' | 'ready' | 'failed' | 'dead' | 'closed';

/** One server: its connection, its tools and its state. */
export class ServerConnection {
  readonly name: string;
  readonly #config: ServerConfig;
  readonly #options: ConnectionOptions;
  readonly #openLink: OpenLink;
  readonly #closing: AbortController = new AbortController();
  readonly #tools: ServerTools;
  readonly #refresh: ToolRefresh;
  #state: ServerState = 'connecting';
  #error: ObservatoryError | undefined;
  /** What `error` says, without the output of the server. */
  #cause: string | undefined;
  #toolListError: string | undefined;
  #link: ServerLink | undefined;
  #opening: Promise<void> | undefined;
  #ending: Promise<void> = Promise.resolve();
  #wasReady = false;
  #reconnects = 0;

  constructor(
    config: ServerConfig,
    options: ConnectionOptions,
    onToolsChanged: (connection: ServerConnection) => void,
    openLink: OpenLink,
  ) {
    this.name = config.name;
    this.#config = config;
    this.#options = options;
    this.#openLink = openLink;
    // Every listing that is under way listens to it, and Node warns about more than ten on stderr.
    setMaxListeners(0, this.#closing.signal);
    this.#tools = new ServerTools(config.name);
    this.#refresh = new ToolRefresh(config.name, async () => {
      const link = this.#link;
      if (link === undefined || this.#state !== 'ready') return;
      try {
        await this.#readTools(link);
        this.#toolListError = undefined;
      } catch (error) {
        this.#toolListError = readReason(error);
        throw error;
      }
      onToolsChanged(this);
    });
  }

  get state(): ServerState {
    return this.#state;
  }

  /** Why the server failed or died. */
  get error(): ObservatoryError | undefined {
    return this.#error;
  }

  get tools(): readonly CallableTool[] {
    return this.#tools.tools;
  }

  /** Tools the server lists in a form that cannot be used. */
  get rejectedTools(): readonly RejectedTool[] {
    return this.#tools.rejected;
  }

  /** Why the tools that the server announced as changed could not be read; the earlier ones are still used. */
  get toolListError(): string | undefined {
    return this.#toolListError;
  }

  /** Process id of a stdio server, or of its wrapper (`npx`, `sh -c`). */
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

  /** The server's instructions for its use, meant for the system prompt. */
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

  /**
   * Calls a tool, after restarting a dead server if `maxReconnects` allows. See {@link ToolCallOutcome} for how a call
   * can end.
   * @throws ObservatoryError `INVALID_OPTION` when the server has no such tool; everything else is an outcome.
   */
  async callTool(name: string, args: JsonObject, options: ToolCallOptions = {}): Promise<ToolCallOutcome> {
    return await this.#request(options, (context) => {
      const tool = this.#tools.find(name);
      if (tool === undefined) {
        throw new ObservatoryError(
          'INVALID_OPTION',
          `Server "${this.name}" has no tool "${name}"; it has ${this.tools.length} tools.`,
        );
      }
      return callTool(tool, args, options, context);
    });
  }

  get hasResources(): boolean {
    return this.#link?.session.capabilities.resources !== undefined;
  }

  /** Reads a resource. The result has its contents as blocks of the type `resource`. Everything else as in a call. */
  async readResource(uri: string, options: ToolCallOptions = {}): Promise<ToolCallOutcome> {
    return await this.#request(options, (context) => readResource(uri, options, context));
  }

  /** Sends a request, and once more if it cannot have run: on a new session, or to a server that may be restarted. */
  async #request(
    { signal }: ToolCallOptions,
    send: (context: CallContext) => Promise<ToolCallOutcome>,
  ): Promise<ToolCallOutcome> {
    for (let isAgain = false; ; isAgain = true) {
      const link = await this.#liveLink(signal);
      if (link === undefined) {
        return { kind: 'transport_error', message: this.#whyGone(), cause: this.#error, durationMs: 0 };
      }
      const outcome = await send({
        session: link.session,
        server: this.name,
        causeOfDeath: () => (this.#link === link && this.#state === 'ready' ? undefined : this.#whyGone()),
      });
      const cause = outcome.kind === 'transport_error' ? outcome.cause : undefined;
      if (!(cause instanceof NeverRan) || isAgain) {
        if (outcome.kind === 'ok') this.#reconnects = 0;
        return outcome;
      }
      await this.#recover(link, cause, signal);
    }
  }

  /** Takes leave of a server, and opens a new session if it ended one; several requests may find that out at once. */
  async #recover(link: ServerLink, cause: NeverRan, signal: AbortSignal | undefined): Promise<void> {
    this.#die(link, cause.message);
    const isRenewed = cause instanceof SessionExpired && this.#link === link && this.#state === 'dead';
    if (isRenewed) await this.connect(signal);
  }

  /** True while tools that the server announced as changed are being read. */
  get toolsUnsettled(): boolean {
    return this.#refresh.isInProgress;
  }

  /** Resolves when every announced change of tools has been read, or could not be. Never rejects. */
  toolsSettled(): Promise<void> {
    return this.#refresh.settled();
  }

  /**
   * Asks the server for its tools now, after restarting a dead server if `maxReconnects` allows.
   * @returns The definitions as the server sent them, unchecked; `tools` holds the usable ones.
   * @throws ToolListError when the list exceeds a bound, else ObservatoryError `SERVER_UNAVAILABLE` or the server's error.
   */
  async listTools(signal?: AbortSignal): Promise<readonly unknown[]> {
    const link = await this.#liveLink(signal);
    if (link === undefined)
      throw this.#error ?? unavailable(this.name, undefined, `is ${this.#state}`, undefined);
    try {
      return await this.#readTools(link, signal);
    } catch (error) {
      if (error instanceof SessionExpired) {
        await this.#recover(link, error, signal);
        const renewed = await this.#liveLink(signal);
        if (renewed !== undefined && renewed !== link) return await this.#readTools(renewed, signal);
      }
      throw this.#link === link && this.#state === 'ready' ? error : (this.#error ?? error);
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
    const limitMs =
      this.#config.connectTimeoutMs ?? this.#options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
    const deadline = new Deadline(limitMs, [this.#closing.signal, signal]);
    const hooks: LinkHooks = {
      onToolsChanged: () => this.#refresh.schedule(),
      onLost: (link, cause) => this.#die(link, cause),
    };
    let link: ServerLink | undefined;
    try {
      link = await this.#openLink(this.#config, this.#options, deadline.signal, hooks);
      const listed = await this.#list(link, deadline.signal);
      if (link.lost() !== undefined) throw new Error(link.lost());
      this.#link = link;
      this.#tools.replace(listed);
      this.#error = undefined;
      this.#state = 'ready';
      this.#wasReady = true;
      if (this.tools.length === 0) this.#warnOfNoTools();
    } catch (cause) {
      // Of a server that ended while it listed its tools, its end says more than the error of the request.
      const why = deadline.passed ? notReadyWithin(limitMs) : link?.lost();
      this.#state = this.#closing.signal.aborted ? 'closed' : this.#wasReady ? 'dead' : 'failed';
      this.#cause = why ?? readReason(cause);
      this.#error = unavailable(this.name, cause, why, link && { stderr: link.stderr() });
      await link?.close();
    } finally {
      deadline.clear();
    }
  }

  #warnOfNoTools(): void {
    const left = this.rejectedTools.length === 0 ? '' : ` that can be used, of ${this.rejectedTools.length}`;
    warnVisibly(`mcp-observatory: Server "${this.name}" offers no tools${left}.`);
  }

  /** The connection to use, after a restart where one is due; undefined when the server is not there. */
  async #liveLink(signal: AbortSignal | undefined): Promise<ServerLink | undefined> {
    if (this.#state === 'dead' && this.#reconnects < (this.#options.maxReconnects ?? 0)) {
      this.#reconnects++;
      await this.connect(signal);
    } else {
      await this.#opening;
    }
    return this.#state === 'ready' ? this.#link : undefined;
  }

  async #readTools(link: ServerLink, signal?: AbortSignal): Promise<readonly unknown[]> {
    const listed = await this.#list(link, this.#closing.signal, signal);
    if (this.#link === link) this.#tools.replace(listed);
    return listed;
  }

  async #list(
    { session }: ServerLink,
    ...signals: readonly (AbortSignal | undefined)[]
  ): Promise<readonly unknown[]> {
    const readPage = (cursor: string | undefined, signal: AbortSignal) =>
      session.listTools(cursor, { signal });
    const isAnnounced = session.capabilities.tools !== undefined;
    const limits = { ...this.#options, ...(!isAnnounced && { toolListTimeoutMs: UNANNOUNCED_TIMEOUT_MS }) };
    const listed = await readToolList(this.name, readPage, limits, ...signals).catch((error: unknown) => {
      // Some servers forget to announce their tools; one that has none need not know the request.
      if (isAnnounced || signals.some((signal) => signal?.aborted === true)) throw findExpiry(session, error);
      return [];
    });
    const wanted = wantedTools(this.name, this.#config.tools, listed);
    noteListedTools(this.name, wanted, false);
    return wanted;
  }

  /** Why the server cannot be asked. A model reads it: what the server wrote to stderr is in `error` alone. */
  #whyGone(): string {
    return goneBecause(this.name, this.#cause ?? `is ${this.#state}`);
  }

  #die(link: ServerLink, cause: string): void {
    if (this.#link !== link || this.#state !== 'ready') return;
    this.#state = 'dead';
    this.#cause = cause;
    this.#error = unavailable(this.name, undefined, cause, { stderr: link.stderr() });
    diag.warn(`mcp-observatory: ${this.#error.message}`);
    this.#endLink();
  }

  #endLink(): void {
    const link = this.#link;
    if (link !== undefined) this.#ending = link.close();
  }
}
