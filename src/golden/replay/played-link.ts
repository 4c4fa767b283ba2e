import { ObservatoryError } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import { type OpenLink, RecordedTimeout, type ServerLink } from '../../mcp-client/index.ts';
import type { McpCall } from '../file/index.ts';
import type { CassettePlayer } from './cassette-player.ts';

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
