import { ObservatoryError } from '../base/index.ts';
import { type DuckDb, literal } from './duckdb.ts';
import { isNameOfFile } from './file-names.ts';
import type { S3Address } from './s3-address.ts';
import type { ArchiveStore } from './store.ts';

const EXTENSIONS = 'https://duckdb.org/docs/stable/core_extensions/httpfs/overview';
/** Timeout of a request, in seconds, and number of retries. */
const SETTINGS = 'SET http_timeout = 60; SET http_retries = 4; SET http_keep_alive = true';

/**
 * An archive in a bucket of S3, or of a server that speaks its language, through DuckDB's extension `httpfs`. An object
 * appears once all of it has arrived, so a process that is killed leaves none or a whole one.
 *
 * @throws ObservatoryError `MISSING_PEER` without the extension, `ARCHIVE_REFUSED` without credentials.
 */
export async function openBucketStore(
  address: S3Address,
  duck: DuckDb,
  env: NodeJS.ProcessEnv,
): Promise<ArchiveStore> {
  await load(duck, 'httpfs', 'An archive in S3');
  await duck.run(SETTINGS);
  await createSecret(address, duck, env);
  const name = `s3://${address.bucket}/${address.prefix}`.replace(/\/$/, '');
  const pathOf = (file: string): string => `s3://${address.bucket}/${address.prefix}${file}`;
  const list = async (): Promise<string[]> => {
    const sql = `SELECT file FROM glob(${literal(pathOf('*/*.parquet'))})`;
    const { rows } = await duck.read(sql, MAX_FILES).catch((error: unknown) => {
      throw withRemedy(error);
    });
    const names = rows.map(([file]) => String(file).slice(pathOf('').length)).filter(isNameOfFile);
    return [...new Set(names)].sort();
  };
  return {
    name,
    list,
    pathOf,
    put: async (path, file, mayReplace) => {
      const expected = await computeDigest(duck, path);
      if ((await list()).includes(file)) {
        // Left by an attempt whose answer was lost.
        if ((await computeDigest(duck, pathOf(file))) === expected) return;
        await mayReplace();
      }
      const failure = await duck
        .run(
          `COPY (FROM read_parquet(${literal(path)})) TO ${literal(pathOf(file))} (FORMAT parquet, COMPRESSION zstd)`,
        )
        .then(
          () => undefined,
          (error: unknown) => withRemedy(error),
        );
      // Also after a failure: the upload may have succeeded and only its answer been lost.
      const stored = await computeDigest(duck, pathOf(file)).catch((error: unknown) => {
        throw failure ?? error;
      });
      if (stored === expected) return;
      throw (
        failure ??
        new ObservatoryError(
          'ARCHIVE_REFUSED',
          `${name} holds something else as ${file} than was sent. Run it again, and give each database a prefix of its own`,
        )
      );
    },
  };
}

/** Maximum number of files: a century of days, and as many late ones. */
const MAX_FILES = 100_000;

/** A digest of a file's rows that does not depend on their order. */
async function computeDigest(duck: DuckDb, path: string): Promise<string> {
  const { rows } = await duck.read(
    `SELECT count(*)::VARCHAR, bit_xor(hash(t))::VARCHAR, sum(hash(t)::HUGEINT)::VARCHAR
     FROM read_parquet(${literal(path)}, hive_partitioning = false) AS t`,
    1,
  );
  return String(rows[0]);
}

/** Remedies, by the words of DuckDB's error messages. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/NoSuchBucket/, 'create the bucket, or correct its name, the region or the endpoint'],
  [
    /HTTP 403|AccessKey|UserNotFound/,
    'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; they need s3:ListBucket on the bucket, s3:GetObject and s3:PutObject on its objects',
  ],
  [/HTTP (?:301|400)/, 'set AWS_REGION, or add ?region= to the address'],
  [/onnect|timed? ?out|resolve/i, 'check the network, AWS_ENDPOINT_URL_S3 and the region, and run it again'],
];

function withRemedy(error: unknown): unknown {
  if (!ObservatoryError.isInstance(error)) return error;
  const remedy = REMEDIES.find(([pattern]) => pattern.test(error.message))?.[1];
  return remedy === undefined
    ? error
    : new ObservatoryError(error.code, `${error.message}; ${remedy}`, { cause: error.cause });
}

async function createSecret(address: S3Address, duck: DuckDb, env: NodeJS.ProcessEnv): Promise<void> {
  const url = address.endpoint ?? (env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || undefined);
  const endpoint = url === undefined ? undefined : new URL(url);
  const region = address.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || undefined);
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  const hasKeys = Boolean(id && secret);
  // Profiles, single sign-on and the roles of machines and pods.
  if (!hasKeys)
    await load(duck, 'aws', 'Without AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, an archive in S3');
  const settings: readonly (readonly [string, string | undefined])[] = [
    ['PROVIDER', hasKeys ? 'config' : 'credential_chain'],
    ['KEY_ID', hasKeys ? id : undefined],
    ['SECRET', hasKeys ? secret : undefined],
    ['SESSION_TOKEN', hasKeys ? token || undefined : undefined],
    ['REGION', region ?? (hasKeys ? 'us-east-1' : undefined)],
    [
      'ENDPOINT',
      endpoint === undefined ? undefined : `${endpoint.host}${endpoint.pathname}`.replace(/\/$/, ''),
    ],
    ['USE_SSL', endpoint === undefined ? undefined : String(endpoint.protocol === 'https:')],
    ['URL_STYLE', address.isPathStyle ? 'path' : undefined],
  ];
  const given = settings.flatMap(([name, value]) =>
    value === undefined ? [] : [`, ${name} ${literal(value)}`],
  );
  try {
    await duck.run(`CREATE SECRET archive (TYPE s3${given.join('')})`);
  } catch {
    // The driver's message may repeat the statement.
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      'No usable credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role',
    );
  }
}

async function load(duck: DuckDb, extension: string, neededFor: string): Promise<void> {
  try {
    await duck.run(`LOAD ${extension}`);
  } catch (cause) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `${neededFor} needs DuckDB's extension ${extension}. Run once in any DuckDB of the same version: INSTALL ${extension} (${EXTENSIONS})`,
      { cause },
    );
  }
}
