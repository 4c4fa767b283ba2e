/** Where a run's system prompt goes from the caller's words to the orchestrator's; see `buildSystemPrompt`. */
const GUIDANCE = /(?:^|\n\n)(?:## Working with tools\n|<working_with_tools>\n)/;
const HEADED_NOTE = /\n\n## Notes of the server ([^\n]{1,200})\n/;
const TAGGED_NOTE = /\n\n<notes_of_the_server_([a-z0-9_]{1,200})>\n/;

export interface SystemPromptParts {
  /** What the caller wrote. */
  readonly systemPrompt: string;
  /** Notes of servers on their own use, by name; a tag holds the name in lower case with underscores. */
  readonly notes: ReadonlyMap<string, string>;
}

/**
 * Takes a run's system prompt apart again.
 * @param servers names of the run's servers, to find the one a tag was made of.
 */
export function splitSystemPrompt(text: string, servers: readonly string[]): SystemPromptParts {
  const cut = text.search(GUIDANCE);
  if (cut < 0) return { systemPrompt: text, notes: new Map() };
  const notes = new Map<string, string>();
  const rest = text.slice(cut);
  const headed = rest.split(HEADED_NOTE);
  for (let at = 1; at < headed.length; at += 2) notes.set(headed[at] ?? '', headed[at + 1] ?? '');
  const tagged = rest.split(TAGGED_NOTE);
  for (let at = 1; at < tagged.length; at += 2) {
    const tag = tagged[at] ?? '';
    const server = servers.find((name) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_') === tag) ?? tag;
    notes.set(server, (tagged[at + 1] ?? '').replace(`\n</notes_of_the_server_${tag}>`, ''));
  }
  return { systemPrompt: text.slice(0, cut), notes };
}
