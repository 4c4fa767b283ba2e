import { ObservatoryError } from '../base/index.ts';

/** A parsed `s3://bucket/prefix?endpoint=https://host:9000&region=eu-central-1&path_style=true`. */
export interface S3Address {
  readonly bucket: string;
  /** Prefix of all keys: empty, or ending with `/`. */
  readonly prefix: string;
  /** `undefined`: from the environment or a profile. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly isPathStyle: boolean;
}

const BUCKET = /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i;
/** Excludes the characters of DuckDB's glob patterns. */
const SEGMENT = /^[^\p{C}\\*?[\]]{1,255}$/u;
const SETTINGS = ['endpoint', 'region', 'path_style'];
const MAX_PREFIX = 512;

/** @throws ObservatoryError `INVALID_OPTION`; its message repeats nothing that may be a secret. */
export function parseS3Address(address: string, env: NodeJS.ProcessEnv): S3Address {
  const url = findUrl(address);
  if (url?.protocol !== 's3:' || url.hash !== '') throw unusable('a URL like s3://bucket/prefix');
  if (url.username !== '' || url.password !== '') {
    throw unusable('without credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE');
  }
  const bucket = url.host;
  if (!BUCKET.test(bucket)) throw unusable(`the name of a bucket after s3://, got '${bucket.slice(0, 80)}'`);
  for (const name of url.searchParams.keys()) {
    if (!SETTINGS.includes(name)) throw unusable(`no other settings than ${SETTINGS.join(', ')}`);
  }
  const endpoint = findEndpoint(url.searchParams.get('endpoint'));
  return {
    bucket,
    prefix: toPrefix(url.pathname),
    endpoint,
    region: url.searchParams.get('region') ?? undefined,
    isPathStyle: isPathStyle(
      url.searchParams.get('path_style'),
      endpoint !== undefined || Boolean(env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL),
    ),
  };
}

/** Other servers than Amazon's seldom have a host name for each bucket. */
function isPathStyle(setting: string | null, hasEndpoint: boolean): boolean {
  if (setting === null) return hasEndpoint;
  if (setting === 'true' || setting === 'false') return setting === 'true';
  throw unusable('path_style to be true or false');
}

function toPrefix(pathname: string): string {
  const segments = decoded(pathname).split('/').slice(1);
  if (segments.at(-1) === '') segments.pop();
  const isUsable = segments.every((one) => SEGMENT.test(one) && one !== '.' && one !== '..');
  const prefix = segments.map((one) => `${one}/`).join('');
  if (!isUsable || prefix.length > MAX_PREFIX) throw unusable('a prefix of plain names with / between them');
  return prefix;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw unusable('a prefix without broken percent signs');
  }
}

function findEndpoint(text: string | null): string | undefined {
  if (text === null) return undefined;
  const url = findUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw unusable('endpoint to be a URL like https://host:9000, without credentials');
  }
  return url.href;
}

/** The URL parser's error would repeat the whole text. */
function findUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function unusable(expected: string): ObservatoryError {
  return new ObservatoryError(
    'INVALID_OPTION',
    `Expected the address of an archive to be or have ${expected}`,
  );
}
