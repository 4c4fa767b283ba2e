/** The results of `golden check` in the forms that CI systems read. */
import { relative, sep } from 'node:path';
import { VERSION } from '../../base/index.ts';
import type { Departure } from '../../golden/index.ts';

export interface Checked {
  readonly path: string;
  readonly outcome: 'same' | 'updated' | 'different' | 'error' | 'skipped';
  /** Of the kind `golden` if the file cannot be used. */
  readonly departures: readonly (Omit<Departure, 'kind'> & { readonly kind: Departure['kind'] | 'golden' })[];
  readonly total_tokens: number | null;
  readonly recorded_tokens: number | null;
  readonly cost_usd: number | null;
  /** The end of what the program wrote to it. */
  readonly stderr: string;
}

/** JUnit XML: a test case for each golden. */
export function toJunit(checked: readonly Checked[]): string {
  const count = (outcome: (one: Checked) => boolean): number => checked.filter(outcome).length;
  const failures = count(isDeparted);
  const skipped = count((one) => one.outcome === 'skipped');
  const cases = checked.map((one) => {
    const { path, departures } = one;
    const head = `    <testcase classname="goldens" name="${escapeXml(path)}"`;
    if (one.outcome === 'skipped') return `${head}><skipped/></testcase>`;
    if (!isDeparted(one)) return `${head}/>`;
    const message = escapeXml(departures.map(({ kind }) => kind).join(', '));
    const text = escapeXml(
      departures.map((departure) => `${departure.kind}: ${departure.message}`).join('\n'),
    );
    return `${head}><failure message="${message}">${text}</failure></testcase>`;
  });
  const counts = `tests="${checked.length}" failures="${failures}" skipped="${skipped}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="goldens" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** SARIF 2.1.0: a result for each departure, at its golden. */
export function toSarif(checked: readonly Checked[]): string {
  const results = checked.filter(isDeparted).flatMap(({ path, departures }) =>
    departures.map(({ kind, place, message }) => ({
      ruleId: kind,
      level: 'error',
      message: { text: message },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: toUri(path) },
            region: { startLine: 1 },
          },
          ...(place === null ? {} : { logicalLocations: [{ fullyQualifiedName: place }] }),
        },
      ],
    })),
  );
  const rules = [...new Set(results.map(({ ruleId }) => ruleId))].map((id) => ({ id }));
  const driver = { name: 'mcp-observatory', version: VERSION, rules };
  const $schema = 'https://json.schemastore.org/sarif-2.1.0.json';
  return `${JSON.stringify({ $schema, version: '2.1.0', runs: [{ tool: { driver }, results }] }, null, 2)}\n`;
}

/** A table for the summary of a CI run. */
export function toMarkdown(checked: readonly Checked[]): string {
  const rows = checked.map(({ path, outcome, departures, total_tokens, recorded_tokens, cost_usd }) => {
    const what = departures.map(({ kind, message }) => `${kind}: ${message}`).join('\n');
    const tokens = `${total_tokens ?? 'unknown'} of ${recorded_tokens ?? 'unknown'}`;
    const cells = [path, outcome, what, tokens, cost_usd === null ? 'unknown' : `$${cost_usd.toFixed(4)}`];
    return `| ${cells.map(escapeCell).join(' | ')} |`;
  });
  const head = '| Golden | Outcome | Departures | Tokens | Cost |\n| --- | --- | --- | --- | --- |';
  return `### Goldens\n\n${head}\n${rows.join('\n')}\n\n`;
}

function isDeparted({ outcome }: Checked): boolean {
  return outcome === 'different' || outcome === 'error';
}

function toUri(path: string): string {
  return encodeURI(relative(process.cwd(), path).split(sep).join('/'));
}

/** What XML 1.0 cannot hold is replaced. */
function escapeXml(text: string): string {
  const names = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' } as const;
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"]/g, (character) => names[character as keyof typeof names]);
}

/** As text in a cell of a table: no markup, no line ends. */
function escapeCell(text: string): string {
  return text
    .replace(/[\\`*_[\]<>|&!#~]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/\r?\n/g, '<br>');
}
