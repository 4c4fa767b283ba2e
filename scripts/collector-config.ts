import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tokenRules } from '../src/json/redact/token-rules.ts';
import { KEPT_SECTIONS } from '../src/processor/kept-attributes.ts';

export const COLLECTOR_CONFIG = 'otel-collector.yaml';

const KEPT_START = '      # Made by `npm run generate` from src/processor/kept-attributes.ts\n';
const SECRETS_START = '      # Made by `npm run generate` from src/json/redact/token-rules.ts\n';

/**
 * The Collector's configuration with the list of attributes that may pass, which the span processor has too, and with the
 * forms of tokens that redaction knows.
 */
export function collectorConfig(): string {
  const text = readFileSync(fileURLToPath(new URL(`../../${COLLECTOR_CONFIG}`, import.meta.url)), 'utf8');
  const names = KEPT_SECTIONS.flatMap(({ title, names }) => [
    `      # ${title}\n`,
    ...names.map((name) => `      - ${name}\n`),
  ]);
  const forms = secretForms().map((form) => `      - ${quoted(form)}\n`);
  return withList(withList(text, KEPT_START, names), SECRETS_START, forms);
}

/** YAML leaves backslashes in single quotes as they are. */
function quoted(form: string): string {
  return form.includes('\\') ? `'${form.replaceAll("'", "''")}'` : `"${form}"`;
}

/** The text with the lines after a mark, up to an empty one, replaced. */
function withList(text: string, mark: string, lines: readonly string[]): string {
  const start = text.indexOf(mark);
  const end = text.indexOf('\n\n', start) + 1;
  if (start === -1 || end === 0) throw new Error(`${COLLECTOR_CONFIG} has no line ${mark}`);
  return text.slice(0, start + mark.length) + lines.join('') + text.slice(end);
}

/**
 * Forms of tokens in the syntax of Go, whose expressions look neither ahead nor behind: what follows or precedes is not
 * checked, so they match more. Those that words can have are left out.
 */
function secretForms(): string[] {
  const forms = tokenRules()
    .filter(({ isMixed }) => isMixed !== true)
    .map(({ form }) => forGo(form.source));
  return [
    ...forms,
    '(?i)\\bbearer +[A-Za-z0-9._~+/-]{16,}',
    '-----BEGIN [A-Z ]*PRIVATE KEY',
    '://[^\\s/?#@:]{0,100}:[^\\s/?#@]{1,200}@',
  ];
}

/** Without conditions on what is around, and with repeats that Go accepts. */
function forGo(source: string): string {
  let form = source;
  for (let at = form.search(/\(\?(?:<!|!|=)/); at !== -1; at = form.search(/\(\?(?:<!|!|=)/)) {
    form = form.slice(0, at) + form.slice(closing(form, at) + 1);
  }
  return (
    form
      .replaceAll('(?<=', '(?:')
      .replaceAll('\\/', '/')
      // The Collector may take a dollar sign for a variable.
      .replaceAll('\\$', '\\x24')
      .replace(/\{(\d+),(\d{4,})\}/g, '{$1,}')
  );
}

/** Where the group that begins at `at` ends. */
function closing(form: string, at: number): number {
  let depth = 0;
  let isClass = false;
  for (let index = at; index < form.length; index += 1) {
    const char = form.charAt(index);
    if (char === '\\') index += 1;
    else if (char === '[') isClass = true;
    else if (char === ']') isClass = false;
    else if (char === '(' && !isClass) depth += 1;
    else if (char === ')' && !isClass) {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  throw new Error(`${form} has no end`);
}
