import {
  DEFAULT_CONNECT_TIMEOUT_MS,
  type McpSession,
  notReadyWithin,
  type OpenLink,
  openLink,
  reasonOf,
  type ServerLink,
  unavailable,
} from '../../mcp-client/index.ts';
import type { CassetteRecorder, ConnectionRecording } from './cassette-recorder.ts';

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
