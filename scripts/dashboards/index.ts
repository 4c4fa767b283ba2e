import { cost } from './cost.ts';
import { governance } from './governance.ts';
import { type Dashboard, grafanaJson } from './panel.ts';
import { risk } from './risk.ts';
import { trace } from './trace.ts';
import { traces } from './traces.ts';

const DASHBOARDS: readonly Dashboard[] = [traces, trace, cost, risk, governance];

/** The files that provision Grafana, by path from the repository root. */
export function dashboardFiles(): readonly { readonly path: string; readonly content: string }[] {
  return DASHBOARDS.map((dashboard) => ({
    path: `collector/grafana/dashboards/${dashboard.uid}.json`,
    content: `${JSON.stringify(grafanaJson(dashboard), null, 2)}\n`,
  }));
}
