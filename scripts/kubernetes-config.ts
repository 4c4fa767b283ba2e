import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COLLECTOR_CONFIG } from './collector-config.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** ConfigMaps by the name that the pods mount, with the Collector configuration of each. */
const CONFIGS = {
  'collector-config': COLLECTOR_CONFIG,
  'gateway-config': 'collector/gateway.yaml',
} as const;

/** The Collector configurations as Kubernetes ConfigMaps; edit the original files. @param collectorConfig the first. */
export function kubernetesConfig(collectorConfig: string): string {
  const maps = Object.entries(CONFIGS).map(([name, path]) => {
    const file = path === COLLECTOR_CONFIG ? collectorConfig : readFileSync(`${ROOT}${path}`, 'utf8');
    const text = file.trimEnd();
    const indented = text.replaceAll(/^(?=.)/gm, '    ');
    return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  namespace: mcp-observatory
data:
  ${path.slice(path.lastIndexOf('/') + 1)}: |
${indented}
`;
  });
  return `# Made by \`npm run generate\` from ${Object.values(CONFIGS).join(' and ')}: edit those.\n${maps.join('---\n')}`;
}
