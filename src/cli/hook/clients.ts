/** The coding agents whose hooks are known: what their events say, what they take for an answer, where they are set up. */
import { isObject, type JsonObject, parseOrKeep, readObject } from '../../json/index.ts';

export type AgentTool =
  /** `folder` is where it runs, from the agent's own. */
  | { readonly kind: 'shell'; readonly command: unknown; readonly folder?: unknown }
  | { readonly kind: 'read' | 'write'; readonly paths: readonly unknown[] }
  | { readonly kind: 'fetch'; readonly url: unknown }
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string; readonly args: JsonObject }
  | { readonly kind: 'other'; readonly tool: string; readonly args: JsonObject };

export interface HookAnswer {
  readonly decision: 'deny' | 'ask';
  readonly reason: string;
}

export interface HookClient {
  /** The events before and after a tool, by their names in the settings. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The settings in the home folder. */
  readonly settings: string;
  /** Whether the agent can ask its user; where it cannot, what needs a person is denied. */
  readonly asks: boolean;
  toolOf(event: JsonObject): AgentTool;
  /** What has to be done before it runs the hook. */
  readonly first?: string | undefined;
  /** The JSON that denies or asks. */
  answer(answer: HookAnswer, event: string): JsonObject;
  entry(command: string, event: string): JsonObject;
}

/**
 * Sources: code.claude.com/docs/en/hooks (Claude Code 2.1), developers.openai.com/codex/hooks and its JSON Schemas (0.13x),
 * cursor.com/docs/agent/hooks (1.7 and later), geminicli.com/docs/hooks/reference. Tried with Claude Code 2.1.332, Codex
 * 0.171 and Gemini CLI 0.61 themselves; Cursor was not. Codex takes `deny` and no other decision (openai/codex#27833).
 */
export const CLIENTS: Readonly<Record<string, HookClient>> = {
  'claude-code': {
    before: ['PreToolUse'],
    after: ['PostToolUse'],
    settings: '.claude/settings.json',
    asks: true,
    toolOf: claudeTool,
    answer: claudeAnswer,
    entry: matcherEntry,
  },
  codex: {
    before: ['PreToolUse'],
    after: ['PostToolUse'],
    settings: '.codex/hooks.json',
    first: 'Codex runs no hook that you have not trusted: start it and type /hooks',
    asks: false,
    toolOf: claudeTool,
    answer: claudeAnswer,
    entry: matcherEntry,
  },
  'gemini-cli': {
    before: ['BeforeTool'],
    after: ['AfterTool'],
    settings: '.gemini/settings.json',
    asks: false,
    toolOf: geminiTool,
    answer: ({ reason }) => ({ decision: 'deny', reason }),
    entry: matcherEntry,
  },
  cursor: {
    before: ['beforeShellExecution', 'beforeMCPExecution', 'beforeReadFile'],
    after: ['afterShellExecution', 'afterMCPExecution'],
    settings: '.cursor/hooks.json',
    asks: true,
    toolOf: cursorTool,
    answer: ({ decision, reason }, event) => ({
      // A file cannot be asked about.
      permission: event === 'beforeReadFile' ? 'deny' : decision,
      user_message: reason,
      agent_message: reason,
    }),
    entry: (command) => ({ command }),
  },
};

function claudeAnswer({ decision, reason }: HookAnswer, event: string): JsonObject {
  return {
    hookSpecificOutput: {
      hookEventName: event,
      permissionDecision: decision,
      permissionDecisionReason: reason,
    },
  };
}

function matcherEntry(command: string): JsonObject {
  return { matcher: '.*', hooks: [{ type: 'command', command }] };
}

type Kind = 'shell' | 'read' | 'write' | 'fetch' | 'patch';

/** Tools of the agents by what they do, from the documents above. All others are called by their names. */
const CLAUDE_TOOLS: Readonly<Record<string, Kind>> = {
  Bash: 'shell',
  Read: 'read',
  NotebookRead: 'read',
  Write: 'write',
  Edit: 'write',
  MultiEdit: 'write',
  NotebookEdit: 'write',
  WebFetch: 'fetch',
  apply_patch: 'patch',
  // Builds of Codex name it so (openai/codex#27833).
  shell_command: 'shell',
};
const GEMINI_TOOLS: Readonly<Record<string, Kind>> = {
  run_shell_command: 'shell',
  read_file: 'read',
  write_file: 'write',
  replace: 'write',
};

function claudeTool({ tool_name: name, tool_input: input }: JsonObject): AgentTool {
  const tool = typeof name === 'string' ? name : '';
  const [, server, called] = /^mcp__([^_](?:(?!__).)*)__(.+)$/s.exec(tool) ?? [];
  if (server !== undefined && called !== undefined)
    return { kind: 'mcp', server, tool: called, args: readObject(input) };
  return ownTool(CLAUDE_TOOLS, tool, readObject(input));
}

function geminiTool({ tool_name: name, tool_input: input, mcp_context: mcp }: JsonObject): AgentTool {
  const tool = typeof name === 'string' ? name : '';
  const { server_name: server, tool_name: called } = readObject(mcp);
  if (typeof server === 'string' && typeof called === 'string')
    return { kind: 'mcp', server, tool: called, args: readObject(input) };
  return ownTool(GEMINI_TOOLS, tool, readObject(input));
}

function ownTool(tools: Readonly<Record<string, Kind>>, tool: string, args: JsonObject): AgentTool {
  const kind = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  const { command, file_path, notebook_path, absolute_path, path, url } = args;
  if (kind === 'shell') {
    const { workdir, directory, dir_path, cwd } = args;
    return { kind, command, folder: workdir ?? directory ?? dir_path ?? cwd };
  }
  if (kind === 'fetch') return { kind, url };
  if (kind === 'patch') return { kind: 'write', paths: patchedPaths(command ?? args.input ?? args.patch) };
  if (kind === 'read' || kind === 'write') {
    const given = [file_path, notebook_path, absolute_path, path].filter((value) => value !== undefined);
    return { kind, paths: given.length === 0 ? [undefined] : given };
  }
  return { kind: 'other', tool, args };
}

/** Markers of files in a patch of Codex, which takes them with white space around. */
const PATCHED = /^(?![+-]).*?\*\*\*\s*(?:Add File|Update File|Delete File|Move to): ?(.*)$/is;

/** The files that a patch of Codex names. */
function patchedPaths(patch: unknown): readonly unknown[] {
  const lines = typeof patch === 'string' ? patch.split('\n') : [];
  const paths = lines.flatMap((line) => PATCHED.exec(line)?.[1]?.trimEnd() ?? []);
  return paths.length === 0 ? [undefined] : paths;
}

function cursorTool(event: JsonObject): AgentTool {
  const { hook_event_name: name, command, file_path, tool_name, tool_input, server, mcp_server_name } = event;
  if (/Shell/.test(String(name))) return { kind: 'shell', command };
  if (name === 'beforeReadFile') return { kind: 'read', paths: [file_path] };
  return {
    kind: 'mcp',
    // Without a name of its server a tool has that of its address or command.
    server: String(mcp_server_name ?? server ?? event.url ?? command ?? ''),
    tool: String(tool_name),
    args: readArguments(tool_input),
  };
}

function readArguments(input: unknown): JsonObject {
  if (typeof input !== 'string') return readObject(input);
  const read = parseOrKeep(input);
  return isObject(read) ? read : { input };
}
