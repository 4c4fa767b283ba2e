import { ObservatoryError } from '../base/index.ts';
import type { CassettePlayer, CassetteRecorder, ConnectionRecording, McpCall } from '../golden/index.ts';
import type { JsonObject } from '../json/index.ts';
import type { McpSession } from '../mcp-client/index.ts';
import {
  DEFAULT_CONNECT_TIMEOUT_MS,
  notReadyWithin,
  type OpenLink,
  openLink,
  RecordedTimeout,
  reasonOf,
  type ServerLink,
  unavailable,
} from '../mcp-client/index.ts';

/** What the limits of a call abort it with when it was its caller who wanted that (see call.ts). */
const CANCELLED_BY_CALLER = 'cancelled by the caller';

/** Opens servers for real, and tells a recorder what they say. */
export function recordingLink(recorder: CassetteRecorder): OpenLink {
  return async (config, options, signal, hooks) => {
    const server = config.name;
    let inner: ServerLink;
    let outer: ServerLink | undefined;
    try {
      inner = await openLink(config, options, signal, {
        onToolsChanged: () => {
          recorder.toolsChanged(server);
          hooks.onToolsChanged();
        },
        onLost: (link, cause) => {
          recorder.died(server, cause, link.stderr());
          if (outer !== undefined) hooks.onLost(outer, cause);
        },
      });
    } catch (error) {
      const why = signal.aborted
        ? notReadyWithin(options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS)
        : undefined;
      recorder.failed(server, unavailable(server, error, why, undefined).message);
      throw error;
    }
    const { session } = inner;
    const recording = recorder.opened(server, {
      sdk: session.sdk,
      protocol_version: session.protocolVersion ?? null,
      server_info: session.serverInfo ?? null,
      capabilities: session.capabilities,
      instructions: session.instructions ?? null,
    });
    outer = { ...inner, session: recordingSession(server, inner, recorder, recording) };
    return outer;
  };
}

function recordingSession(
  server: string,
  link: ServerLink,
  recorder: CassetteRecorder,
  recording: ConnectionRecording,
): McpSession {
  const { session } = link;
  return {
    ...session,
    listTools: async (cursor, controls) => {
      try {
        const page = await session.listTools(cursor, controls);
        recording.listed(Array.isArray(page.tools) ? page.tools : [], cursor === undefined);
        return page;
      } catch (error) {
        recording.failed(unavailable(server, error, link.lost(), link.stderr()).message);
        throw error;
      }
    },
    callTool: async (tool, args, meta, controls) => {
      const ended = recorder.called(server, tool.name, args);
      try {
        const result = await session.callTool(tool, args, meta, controls);
        ended({ outcome: 'result', result });
        return result;
      } catch (error) {
        const lost = link.lost();
        const refusal = session.protocolError(error);
        if (controls.signal.aborted) {
          const message = String(controls.signal.reason);
          ended({ outcome: message === CANCELLED_BY_CALLER ? 'cancelled' : 'timeout', message });
        } else if (lost === undefined && refusal !== undefined) {
          ended({ outcome: 'error', error: refusal });
        } else {
          ended({ outcome: 'lost', message: lost ?? reasonOf(error) });
        }
        throw error;
      }
    },
  };
}

/** Opens no server: plays what servers said in a golden. */
export function playedLink(cassette: CassettePlayer): OpenLink {
  return async (config, _options, _signal, hooks) => {
    const server = config.name;
    const connection = cassette.open(server);
    if (connection.outcome === 'failed') throw new ObservatoryError('SERVER_UNAVAILABLE', connection.error);
    let lost: string | undefined;
    let stderr = '';
    let lists = 0;
    const link: ServerLink = {
      pid: undefined,
      stderr: () => stderr,
      lost: () => lost,
      close: () => Promise.resolve(),
      session: {
        sdk: connection.sdk,
        protocolVersion: connection.protocol_version ?? undefined,
        serverInfo: connection.server_info ?? undefined,
        capabilities: connection.capabilities,
        instructions: connection.instructions ?? undefined,
        listTools: () => {
          const list = connection.tool_lists[lists] ?? connection.tool_lists.at(-1) ?? [];
          lists += 1;
          return Promise.resolve({ tools: list });
        },
        callTool: async (tool, args) => {
          const call = cassette.call(server, tool.name, args);
          if (call.tools_changed === true) hooks.onToolsChanged();
          const died = call.server_died;
          if (died !== undefined) {
            lost = died.cause;
            stderr = died.stderr;
            // A server that answers and then goes away has its answer read first.
            if (call.outcome === 'result') setImmediate(() => hooks.onLost(link, died.cause));
            else hooks.onLost(link, died.cause);
          }
          return endOf(call);
        },
        protocolError: (error) => (error instanceof PlayedError ? error.answer : undefined),
        isInvalidResult: () => false,
        close: () => Promise.resolve(),
      },
    };
    return link;
  };
}

/** A JSON-RPC error that a server answered with in a golden. */
class PlayedError extends Error {
  readonly answer: NonNullable<McpCall['error']>;

  constructor(answer: NonNullable<McpCall['error']>) {
    super(answer.message);
    this.answer = answer;
  }
}

function endOf(call: McpCall): JsonObject {
  switch (call.outcome) {
    case 'result':
      return call.result ?? {};
    case 'error':
      throw new PlayedError(call.error ?? { code: -32603, message: 'unknown' });
    case 'timeout':
      throw new RecordedTimeout(call.message);
    default:
      throw new Error(call.message);
  }
}
