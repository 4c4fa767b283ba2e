/** MCP servers that others have published: what starts them without an account, and a call that none needs. */

export interface PublishedServer {
  /** Of npm or PyPI, with its version. */
  readonly spec: string;
  readonly from: 'npm' | 'pypi';
  /** The list of Python packages it is installed with, where that is not the usual one. */
  readonly packages?: 'sqlite';
  /** The program of the package, where it has several or another than its main one. */
  readonly bin?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files that it wants to find in its folder. */
  readonly files?: Readonly<Record<string, string>>;
  readonly call: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
  /** Driven only with all of them: it is another server of the same project, or needs an environment of its own. */
  readonly isCostly?: true;
  /** Why there are no spans of it at the collector. */
  readonly unseen?: string;
}

/** `FOLDER` in an argument is an empty folder of the run's own. */
export const PUBLISHED: readonly PublishedServer[] = [
  {
    spec: '@playwright/mcp@0.0.83',
    from: 'npm',
    args: ['--headless'],
    call: { name: 'browser_close', arguments: {} },
  },
  {
    spec: 'chrome-devtools-mcp@1.11.0',
    from: 'npm',
    bin: 'chrome-devtools-mcp',
    args: ['--no-usage-statistics', '--headless', '--executablePath', '/nonexistent/chrome'],
    call: { name: 'list_pages', arguments: {} },
  },
  {
    spec: '@notionhq/notion-mcp-server@2.5.2',
    from: 'npm',
    env: { NOTION_TOKEN: 'none' },
    call: { name: 'API-get-self', arguments: {} },
  },
  {
    spec: '@upstash/context7-mcp@4.1.1',
    from: 'npm',
    call: { name: 'resolve-library-id', arguments: { query: 'react', libraryName: 'react' } },
  },
  {
    spec: 'tavily-mcp@0.2.22',
    from: 'npm',
    env: { TAVILY_API_KEY: 'none' },
    call: { name: 'tavily_search', arguments: { query: 'otters' } },
  },
  {
    spec: '@wonderwhy-er/desktop-commander@0.2.52',
    from: 'npm',
    bin: 'desktop-commander',
    call: { name: 'list_sessions', arguments: {} },
  },
  {
    spec: 'mcp-server-kubernetes@4.1.7',
    from: 'npm',
    call: { name: 'ping', arguments: {} },
  },
  {
    spec: '@modelcontextprotocol/server-filesystem@2026.8.31',
    from: 'npm',
    args: ['FOLDER'],
    call: { name: 'list_directory', arguments: { path: 'FOLDER' } },
  },
  {
    spec: '@modelcontextprotocol/server-everything@2026.8.31',
    from: 'npm',
    isCostly: true,
    call: { name: 'echo', arguments: { message: 'hi' } },
  },
  {
    spec: '@modelcontextprotocol/server-memory@2026.8.31',
    from: 'npm',
    isCostly: true,
    env: { MEMORY_FILE_PATH: 'FOLDER/memory.jsonl' },
    call: { name: 'read_graph', arguments: {} },
  },
  {
    spec: '@modelcontextprotocol/server-sequential-thinking@2026.8.31',
    from: 'npm',
    isCostly: true,
    call: {
      name: 'sequentialthinking',
      arguments: { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
    },
  },
  {
    spec: '@modelcontextprotocol/server-postgres@0.6.2',
    from: 'npm',
    args: ['postgresql://127.0.0.1:1/none'],
    call: { name: 'query', arguments: { sql: 'SELECT 1' } },
  },
  {
    spec: '@modelcontextprotocol/server-slack@2025.4.25',
    from: 'npm',
    env: { SLACK_BOT_TOKEN: 'none', SLACK_TEAM_ID: 'none' },
    call: { name: 'slack_list_channels', arguments: {} },
  },
  {
    spec: '@modelcontextprotocol/server-github@2025.4.8',
    from: 'npm',
    call: { name: 'search_repositories', arguments: { query: 'otters' } },
  },
  {
    spec: 'figma-developer-mcp@0.13.2',
    from: 'npm',
    args: ['--figma-api-key=none', '--stdio'],
    call: { name: 'get_figma_data', arguments: { fileKey: 'abcdef' } },
  },
  {
    spec: 'mongodb-mcp-server@3.0.4',
    from: 'npm',
    args: ['--telemetry', 'disabled'],
    call: { name: 'list-connections', arguments: {} },
  },
  {
    spec: '@elastic/mcp-server-elasticsearch@0.3.1',
    from: 'npm',
    env: { ES_URL: 'http://127.0.0.1:1', ES_API_KEY: 'none' },
    call: { name: 'list_indices', arguments: { indexPattern: '*' } },
  },
  {
    spec: '@cocal/google-calendar-mcp@2.6.3',
    from: 'npm',
    env: { GOOGLE_OAUTH_CREDENTIALS: 'FOLDER/none.json' },
    files: {
      'none.json': JSON.stringify({
        installed: {
          client_id: 'none',
          client_secret: 'none',
          redirect_uris: ['http://localhost:3000/oauth2callback'],
        },
      }),
    },
    call: { name: 'list-calendars', arguments: {} },
  },
  {
    spec: '@sentry/mcp-server@0.36.0',
    from: 'npm',
    args: ['--access-token=none'],
    call: { name: 'whoami', arguments: {} },
    unseen: 'it starts an OpenTelemetry SDK of its own, which records nothing without an account',
  },
  {
    // Newer ones pass all on to a server of theirs.
    spec: '@stripe/mcp@0.2.5',
    from: 'npm',
    args: ['--tools=all', '--api-key=sk_test_none'],
    call: { name: 'retrieve_balance', arguments: {} },
  },
  {
    spec: 'mcp-server-time==2026.10.19',
    from: 'pypi',
    call: {
      name: 'convert_time',
      arguments: { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' },
    },
  },
  {
    spec: 'mcp-server-git==2026.10.19',
    from: 'pypi',
    call: { name: 'git_status', arguments: { repo_path: 'FOLDER' } },
  },
  {
    spec: 'mcp-server-fetch==2026.10.24',
    from: 'pypi',
    call: { name: 'fetch', arguments: { url: 'http://127.0.0.1:1/' } },
  },
  {
    spec: 'mcp-server-sqlite==2025.4.25',
    from: 'pypi',
    packages: 'sqlite',
    args: ['--db-path', 'FOLDER/it.db'],
    call: { name: 'read_query', arguments: { query: 'SELECT 1 AS one' } },
  },
  {
    // Not made with an SDK of the protocol's own project.
    spec: '@sylphx/pdf-reader-mcp@2.4.0',
    from: 'npm',
    isCostly: true,
    call: { name: 'read_pdf', arguments: { sources: [{ path: 'none.pdf' }] } },
  },
];
