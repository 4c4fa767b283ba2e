/** Queries of the dashboards as Grafana would run them, with the macros of its Postgres data source expanded. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface GrafanaPanel {
  readonly title: string;
  readonly type: string;
  readonly targets: readonly { readonly rawSql: string; readonly format: string }[];
  readonly datasource: { readonly uid: string };
  readonly fieldConfig: {
    readonly overrides: readonly { readonly matcher: { readonly options: string } }[];
  };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

export interface GrafanaDashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly GrafanaPanel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: string }[];
  };
}

/** The dashboards that are shipped. */
export function readDashboards(folder: string): GrafanaDashboard[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as GrafanaDashboard);
}

/** What the reader chose: a time range, and values for the variables. */
export interface Chosen {
  readonly from: Date;
  readonly to: Date;
  readonly variables: Readonly<Record<string, readonly string[]>>;
}

/**
 * The SQL that reaches Postgres. Variables first, then macros, as Grafana does; what it would not know stays, and is a
 * syntax error for Postgres.
 */
export function expand(sql: string, { from, to, variables }: Chosen): string {
  return sql
    .replace(
      /\$\{(\w+):sqlstring\}/g,
      (whole, name: string) => variables[name]?.map(quoted).join(',') ?? whole,
    )
    .replaceAll('$__interval', '1m')
    .replace(
      /\$__timeFilter\((\w+)\)/g,
      (_, column: string) => `${column} BETWEEN '${from.toISOString()}' AND '${to.toISOString()}'`,
    )
    .replace(
      /\$__timeGroupAlias\((\w+), 1m\)/g,
      (_, column: string) => `floor(extract(epoch from ${column})/60)*60 AS "time"`,
    );
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
