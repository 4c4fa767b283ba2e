/**
 * A compact form of Grafana dashboards over `mcp_traces`: the SQL of each panel and how its result is shown.
 * `npm run generate` writes Grafana's JSON from it.
 */

/** How a query's result is drawn. `timeseries` needs columns `time`, one text and one number; the others accept any. */
export type PanelType = 'timeseries' | 'barchart' | 'stat' | 'table' | 'piechart';

export interface Panel {
  readonly title: string;
  readonly type: PanelType;
  /** One SELECT, with Grafana's macros (`$__timeFilter`) and the dashboard's variables. */
  readonly sql: string;
  /** Width in 24ths of the page, and height in Grafana's rows of 30 pixels. @defaultValue 12 by 8 */
  readonly size?: readonly [width: number, height: number];
  /** Unit of the numbers, by Grafana's id: `currencyUSD`, `ms`, `percentunit` ... @defaultValue `short` */
  readonly unit?: string;
  /** What a reader needs to know besides the title. */
  readonly description?: string;
  /** Whether the series are stacked. */
  readonly stacked?: boolean;
  /** Units of individual table columns. */
  readonly units?: Readonly<Record<string, string>>;
  /** A column with cells that link to another dashboard. */
  readonly link?: { readonly column: string; readonly title: string; readonly url: string };
}

/** A variable, chosen above the panels. */
export interface Variable {
  readonly name: string;
  readonly label: string;
  /** A query for the values to choose from (several or all); without it the variable is a text box. */
  readonly sql?: string;
}

export interface Dashboard {
  /** Must never change: links and file names are derived from it. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly panels: readonly Panel[];
  /** Initial time range. */
  readonly from: string;
}

/** Uid of the provisioned data source. */
export const DATA_SOURCE = { type: 'grafana-postgresql-datasource', uid: 'mcp-observatory' } as const;

/** A dashboard as Grafana reads it from a file. */
export function grafanaJson(dashboard: Dashboard): Readonly<Record<string, unknown>> {
  return {
    uid: dashboard.uid,
    title: dashboard.title,
    description: dashboard.description,
    tags: ['mcp-observatory'],
    timezone: 'browser',
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: '',
    time: { from: dashboard.from, to: 'now' },
    templating: { list: dashboard.variables.map(variableJson) },
    links: [
      {
        type: 'dashboards',
        title: 'MCP observatory',
        tags: ['mcp-observatory'],
        asDropdown: true,
        keepTime: true,
      },
    ],
    panels: placed(dashboard.panels).map(({ panel, gridPos }, index) => ({
      id: index + 1,
      ...panelJson(panel),
      gridPos,
    })),
  };
}

function variableJson(variable: Variable): object {
  const { name, label, sql } = variable;
  if (sql === undefined) return { type: 'textbox', name, label, query: '', current: { text: '', value: '' } };
  return {
    type: 'query',
    name,
    label,
    datasource: DATA_SOURCE,
    query: sql,
    definition: sql,
    multi: true,
    includeAll: true,
    current: { text: ['All'], value: ['$__all'] },
    // Refreshed when the time range changes.
    refresh: 2,
    sort: 1,
  };
}

function panelJson(panel: Panel): object {
  const { title, type, sql, unit = 'short', description } = panel;
  return {
    title,
    type,
    ...(description === undefined ? {} : { description }),
    datasource: DATA_SOURCE,
    targets: [
      {
        refId: 'A',
        datasource: DATA_SOURCE,
        format: type === 'timeseries' ? 'time_series' : 'table',
        editorMode: 'code',
        rawQuery: true,
        rawSql: sql,
      },
    ],
    fieldConfig: { defaults: { unit, ...custom(panel) }, overrides: overrides(panel) },
    options: optionsOf(type),
  };
}

function custom({ type, stacked }: Panel): object {
  if (type !== 'timeseries' || stacked !== true) return {};
  return { custom: { fillOpacity: 40, stacking: { mode: 'normal', group: 'A' } } };
}

function overrides({ units = {}, link }: Panel): object[] {
  const ofColumn = (column: string, id: string, value: unknown) => ({
    matcher: { id: 'byName', options: column },
    properties: [{ id, value }],
  });
  return [
    ...Object.entries(units).map(([column, unit]) => ofColumn(column, 'unit', unit)),
    ...(link === undefined ? [] : [ofColumn(link.column, 'links', [{ title: link.title, url: link.url }])]),
  ];
}

function optionsOf(type: PanelType): object {
  switch (type) {
    case 'stat':
    case 'piechart':
      // Every row is its own value; nothing is aggregated in the browser.
      return { reduceOptions: { values: type === 'piechart', calcs: ['lastNotNull'], fields: '' } };
    case 'table':
      return { showHeader: true, cellHeight: 'sm' };
    case 'timeseries':
      return {
        legend: { displayMode: 'list', placement: 'bottom' },
        tooltip: { mode: 'multi', sort: 'desc' },
      };
    case 'barchart':
      return { orientation: 'horizontal', legend: { displayMode: 'list', placement: 'bottom' } };
  }
}

const PAGE_WIDTH = 24;

/** Arranges panels in reading order, row by row. */
function placed(panels: readonly Panel[]) {
  let [x, y, rowHeight] = [0, 0, 0];
  return panels.map((panel) => {
    const [w, h] = panel.size ?? [12, 8];
    if (x + w > PAGE_WIDTH) {
      [x, y, rowHeight] = [0, y + rowHeight, 0];
    }
    const gridPos = { x, y, w, h };
    x += w;
    rowHeight = Math.max(rowHeight, h);
    return { panel, gridPos };
  });
}
