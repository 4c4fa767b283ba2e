import type { PolicyServer, ToolDefinition } from '../../policy/index.ts';
import type { CassettePlayer, CassetteRecorder } from '../index.ts';

/** Passes everything on to a server, and tells a recorder what it says. */
export function recordingServer(id: string, server: PolicyServer, recorder: CassetteRecorder): PolicyServer {
  const recording = recorder.opened(id, {
    sdk: 'v1',
    protocol_version: null,
    server_info: null,
    capabilities: { tools: {} },
    instructions: null,
  });
  return {
    listTools: async () => {
      const tools = await server.listTools();
      recording.listed(tools, true);
      return tools;
    },
    callTool: async (tool, args) => {
      const ended = recorder.called(id, tool, args);
      try {
        const result = await server.callTool(tool, args);
        ended({ outcome: 'result', result: result as Readonly<Record<string, unknown>> });
        return result;
      } catch (error) {
        ended({ outcome: 'lost', message: error instanceof Error ? error.message : String(error) });
        throw error;
      }
    },
    close: () => server.close(),
  };
}

/** Plays what a server said in a golden. */
export function playedServer(id: string, cassette: CassettePlayer): PolicyServer {
  const connection = cassette.open(id);
  const lists = connection.outcome === 'ready' ? connection.tool_lists : [];
  let read = 0;
  return {
    listTools: async () => {
      if (connection.outcome === 'failed') throw new Error(connection.error);
      const list = lists[read] ?? lists.at(-1) ?? [];
      read += 1;
      return list as readonly ToolDefinition[];
    },
    callTool: async (tool, args) => {
      const call = cassette.call(id, tool, args);
      if (call.outcome === 'result') return call.result;
      throw new Error(call.message ?? call.error?.message);
    },
    close: () => Promise.resolve(),
  };
}
