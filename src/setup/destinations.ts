import { errorMessage } from '../base/index.ts';
import {
  createOtlpExporter,
  createOtlpMetricExporter,
  locateExporter,
  type OtlpRequest,
  postOtlp,
  withoutSecrets,
} from '../durable/index.ts';
import {
  firstNames,
  LATEST_MIGRATION,
  missingObjects,
  openDatabase,
  schemaVersion,
} from '../postgres/index.ts';
import { resolveStartOptions } from './options.ts';
import { isDisabled, wantsOtlp } from './registration/index.ts';

const TIMEOUT_MS = 3000;

/** Where `register` sends something. */
export interface Destination {
  readonly what: 'spans' | 'metrics';
  /** Without passwords and keys. */
  readonly address: string;
  /** Why the destination does not accept the data; null if it does. */
  readonly problem: string | null;
}

/**
 * Finds where `register` would send spans and metrics in this environment, and tries each place: with an empty OTLP
 * request, or by connecting to the database. Each takes 3 seconds at most.
 */
export async function tryDestinations(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Destination[]> {
  if (isDisabled(env)) return [];
  const { postgres, otlp, metrics } = resolveStartOptions({ otlp: wantsOtlp(env) }, env);
  const tries: Promise<Destination | undefined>[] = [];
  if (typeof postgres === 'string') tries.push(tryDatabase(postgres));
  if (otlp !== undefined) {
    const request = createOtlpExporter(otlp, env).then((exporter) => exporter.requestOf?.([]));
    tries.push(tryOtlp('spans', request));
  }
  if (metrics !== undefined) tries.push(tryOtlp('metrics', metricsRequest(env)));
  return (await Promise.all(tries)).filter((found) => found !== undefined);
}

async function metricsRequest(
  env: Readonly<Record<string, string | undefined>>,
): Promise<OtlpRequest | undefined> {
  const protocol = env.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const file = locateExporter('metrics', protocol);
  if (file === undefined) return undefined;
  const exporter = await createOtlpMetricExporter(file, env);
  return exporter.requestOf?.({ resource: { attributes: {} }, scopeMetrics: [] });
}

async function tryOtlp(
  what: Destination['what'],
  making: Promise<OtlpRequest | undefined>,
): Promise<Destination | undefined> {
  let address = 'OTLP';
  try {
    const request = await making;
    if (request === undefined) return undefined;
    address = withoutSecrets(request.target.url);
    await postOtlp({ ...request.target, timeoutMs: TIMEOUT_MS }, request.body);
    return { what, address, problem: null };
  } catch (error) {
    return { what, address, problem: errorMessage(error) };
  }
}

async function tryDatabase(url: string): Promise<Destination> {
  let address = 'Postgres';
  try {
    await using database = await openDatabase({
      url,
      connectTimeoutMs: TIMEOUT_MS,
      statementTimeoutMs: TIMEOUT_MS,
    });
    address = database.name;
    await database.query('SELECT 1');
    // Tables of another version are updated when the program starts.
    const missing =
      (await schemaVersion(database)) === LATEST_MIGRATION ? await missingObjects(database) : [];
    const problem =
      missing.length === 0 ? null : `${firstNames(missing)} is missing. Run: npx mcp-observatory db migrate`;
    return { what: 'spans', address, problem };
  } catch (error) {
    return { what: 'spans', address, problem: errorMessage(error) };
  }
}
