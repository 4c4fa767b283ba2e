import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RE2JS } from 're2js';
import { parse, parseAllDocuments } from 'yaml';
import { readCollectOptions } from '../src/cli/collect-options.ts';
import { commandIo } from '../src/cli/command-line/index.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Service {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
}

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly readinessProbe?: unknown;
  readonly livenessProbe?: unknown;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly Container[];
        readonly volumes?: readonly {
          readonly name: string;
          readonly configMap?: { readonly name: string };
        }[];
        readonly securityContext: Readonly<Record<string, unknown>>;
      };
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly scaleTargetRef?: { readonly kind: string; readonly name: string };
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly ports?: readonly { readonly port: number }[];
  };
}

/** The flags and the environment of a `collect`, as its own command line reads them. */
async function assertCollectStarts(args: readonly string[], env: readonly string[]): Promise<void> {
  assert.equal(args[0], 'collect');
  const { options } = await readCollectOptions(
    args.slice(1),
    commandIo({
      ...process,
      env: Object.fromEntries(
        env.map((name) => [name, name.endsWith('URL') ? 'postgresql://db/x' : 'given']),
      ),
    }),
  );
  assert.deepEqual(options.tokens, ['given'], 'beyond its container it must ask for a token');
}

describe('the Dockerfiles', () => {
  for (const path of ['collector/Dockerfile', 'collector/otelcol.Dockerfile']) {
    const lines = read(path)
      .replaceAll(/\\\n/g, ' ')
      .split('\n')
      .filter((line) => /^[A-Z]+ /.test(line));

    test(`${path} copies what is there, and does not run as root`, () => {
      const copied = lines
        .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
        .flatMap((line) => line.split(/\s+/).slice(1, -1));
      assert.ok(copied.length > 0);
      for (const file of copied) assert.ok(existsSync(join(ROOT, file)), file);
      const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
      assert.ok(last.some((line) => /^USER (?!root)/.test(line)));
    });
  }

  test('the service starts with the flags of its image', async () => {
    const [, command] = /^CMD (\[.*\])$/m.exec(read('collector/Dockerfile')) ?? [];
    await assertCollectStarts(JSON.parse(command ?? '[]') as string[], [
      'MCP_OBSERVATORY_DATABASE_URL',
      'MCP_OBSERVATORY_TOKEN',
    ]);
  });
});

describe('the compose file', () => {
  const compose = parse(read('collector/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>;
    volumes: Record<string, unknown>;
    networks: Record<string, unknown>;
  };
  const services = Object.entries(compose.services);

  test('names files, volumes and networks that are there', () => {
    for (const [name, { build, volumes = [], networks = [] }] of services) {
      if (build !== undefined) assert.ok(existsSync(join(ROOT, build.dockerfile)), name);
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        const isThere = source.startsWith('.')
          ? existsSync(join(ROOT, 'collector', source))
          : source in compose.volumes;
        assert.ok(isThere, `${name}: ${source}`);
      }
      for (const network of networks) assert.ok(network in compose.networks, `${name}: ${network}`);
    }
  });

  test('opens ports to this machine alone', () => {
    for (const [name, { ports = [] }] of services) {
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name);
    }
  });

  test('gives the Collector the variables its configuration asks for, and Grafana those of its data source', () => {
    const asked = new Set(
      [...read('otel-collector.yaml').matchAll(/\$\{env:(\w+)\}/g)].map(([, name]) => name),
    );
    const given = compose.services.otelcol?.environment ?? {};
    for (const name of asked) assert.ok(name !== undefined && name in given, name);
    const dataSource = read('collector/grafana/provisioning/datasources/mcp-observatory.yaml');
    for (const [, name = ''] of dataSource.matchAll(/\$\{(\w+)\}/g)) {
      assert.ok(name in (compose.services.grafana?.environment ?? {}), name);
    }
  });
});

describe('the Kubernetes manifests', () => {
  const manifests = readdirSync(join(ROOT, 'collector/k8s')).flatMap((file) =>
    parseAllDocuments(read(`collector/k8s/${file}`)).map((document) => {
      assert.deepEqual(document.errors, [], file);
      return document.toJS() as Manifest;
    }),
  );
  const workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
  const named = (kind: string, name: string) =>
    manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);

  for (const { metadata, spec } of workloads) {
    const pod = spec.template.spec;
    test(`${metadata.name} runs without rights on a file system that cannot be written, and is probed`, () => {
      assert.equal(pod.securityContext.runAsNonRoot, true);
      for (const { securityContext, readinessProbe, livenessProbe } of pod.containers) {
        assert.equal(securityContext.readOnlyRootFilesystem, true);
        assert.equal(securityContext.allowPrivilegeEscalation, false);
        assert.ok(readinessProbe && livenessProbe);
      }
    });

    test(`${metadata.name} mounts what is there, and reads configurations that are in it`, () => {
      const claims = (spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name);
      for (const { args, volumeMounts } of pod.containers) {
        const files = new Set<string>();
        for (const { name, mountPath } of volumeMounts) {
          const volume = pod.volumes?.find((each) => each.name === name);
          assert.ok(volume !== undefined || claims.includes(name), name);
          if (volume?.configMap === undefined) continue;
          const map = named('ConfigMap', volume.configMap.name);
          for (const key of Object.keys(map?.data ?? {})) files.add(`${mountPath}/${key}`);
        }
        for (const file of args.filter((arg) => arg.startsWith('/'))) assert.ok(files.has(file), file);
      }
    });

    test(`${metadata.name} has a budget of disruptions and a policy of its own`, () => {
      assert.ok(named('PodDisruptionBudget', metadata.name));
      assert.ok(named('NetworkPolicy', metadata.name));
    });
  }

  test('all are in one namespace, and what is scaled is there', () => {
    for (const { kind, metadata, spec } of manifests) {
      if (kind !== 'Namespace') assert.equal(metadata.namespace, 'mcp-observatory', metadata.name);
      const target = spec?.scaleTargetRef;
      if (target !== undefined) assert.ok(named(target.kind, target.name), metadata.name);
    }
  });

  test('services select pods that listen on their ports', () => {
    for (const { kind, metadata, spec } of manifests) {
      if (kind !== 'Service') continue;
      const selected = workloads.find(({ spec: { template } }) =>
        Object.entries(spec.selector ?? {}).every(([key, value]) => template.metadata.labels[key] === value),
      );
      const ports = selected?.spec.template.spec.containers.flatMap((each) => each.ports) ?? [];
      for (const { port } of spec.ports ?? []) {
        assert.ok(
          ports.some(({ containerPort }) => containerPort === port),
          `${metadata.name}: ${port}`,
        );
      }
    }
  });

  test('the service starts with the flags of its pod', async () => {
    const [container] = named('Deployment', 'observatory')?.spec.template.spec.containers ?? [];
    await assertCollectStarts(container?.args ?? [], container?.env.map(({ name }) => name) ?? []);
  });
});

test('the forms of secrets in the configuration of the Collector are expressions of Go, and leave ids and models', () => {
  const { processors } = parse(read('otel-collector.yaml')) as {
    processors: Record<string, { blocked_values?: string[] }>;
  };
  const sources = processors['redaction/no_secrets']?.blocked_values ?? [];
  assert.ok(sources.length > 90);
  const forms = sources.map((source) => RE2JS.compile(source));
  const isMasked = (text: string) => forms.some((form) => form.matcher(text).find());
  const secrets = [
    ['gh', 'p_', 'B'.repeat(36)],
    ['AK', 'IAIOSFODNN7EXAMPLE'],
    ['h', 'f_', 'c'.repeat(34)],
    ['Bearer ', 'd'.repeat(24)],
    ['-----BEGIN RSA PRIV', 'ATE KEY-----'],
    ['redis', '://:pw@cache'],
    ['sk_', 'live_', 'e'.repeat(24)],
  ].map((parts) => parts.join(''));
  assert.deepEqual(
    secrets.filter((secret) => !isMasked(`agent ${secret}`)),
    [],
  );
  const kept = [
    'gpt-4o-2024-08-06',
    'https://api.example.com:443/v1',
    'chatcmpl-AbC123dEf456GhI789jKl',
    'a'.repeat(64),
  ];
  assert.deepEqual(kept.filter(isMasked), []);
});
