import type { SenderSettings } from '../ui/index.ts';

/**
 * The settings of programs that send telemetry, from their documents: code.claude.com/docs/en/monitoring-usage,
 * developers.openai.com/codex (config.toml), code.visualstudio.com/docs/copilot/guides/monitoring-agents, and
 * docs/cli/telemetry.md of google-gemini/gemini-cli. Each sends its events or spans only, since metrics are not stored
 * and spans of Codex repeat its events.
 */
export function agentSettings(http: string, grpc: string): readonly SenderSettings[] {
  return [
    {
      name: 'Node program',
      lines: [`OTEL_EXPORTER_OTLP_ENDPOINT=${http} node --import mcp-observatory/register app.js`],
    },
    { name: 'other SDKs', lines: [`OTEL_EXPORTER_OTLP_ENDPOINT=${http}`] },
    {
      name: 'Claude Code',
      lines: [
        'CLAUDE_CODE_ENABLE_TELEMETRY=1 OTEL_LOGS_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf \\',
        `  OTEL_EXPORTER_OTLP_ENDPOINT=${http} claude`,
      ],
    },
    {
      name: 'Codex',
      where: '~/.codex/config.toml',
      lines: ['[otel]', `exporter = { otlp-http = { endpoint = "${http}/v1/logs", protocol = "binary" } }`],
    },
    {
      name: 'VS Code Copilot',
      where: 'settings.json',
      lines: [
        '"github.copilot.chat.otel.enabled": true,',
        `"github.copilot.chat.otel.otlpEndpoint": "${http}"`,
      ],
    },
    {
      name: 'Gemini CLI',
      lines: [
        'GEMINI_TELEMETRY_ENABLED=true GEMINI_TELEMETRY_TARGET=local \\',
        `  GEMINI_TELEMETRY_OTLP_ENDPOINT=http://${grpc} gemini`,
      ],
    },
  ];
}

/** The settings as lines of text, names in a column. */
export function agentSettingsText(http: string, grpc: string): readonly string[] {
  return agentSettings(http, grpc).flatMap(({ name, where, lines }) => {
    const all = where === undefined ? lines : [`in ${where}:`, ...lines];
    return all.map((line, i) => `  ${(i === 0 ? name : '').padEnd(16)}${line}`);
  });
}
