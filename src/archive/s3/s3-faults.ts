import { ObservatoryError } from '../../base/index.ts';
import type { Bucket } from './bucket.ts';

/**
 * Runs requests, and says what to do when they fail. Of what a server answers only its code is repeated: its texts may
 * hold keys and tokens.
 *
 * @param what was tried, before the name of the bucket: `Listing`, `Writing X to`.
 */
export async function asked<T>(
  { name, address }: Bucket,
  what: string,
  requests: () => Promise<T>,
): Promise<T> {
  try {
    return await requests();
  } catch (error) {
    if (ObservatoryError.isInstance(error)) throw error;
    const place = address.endpoint === undefined ? name : `${name} at ${new URL(address.endpoint).host}`;
    throw new ObservatoryError('ARCHIVE_REFUSED', `${what} ${place} failed: ${reasonOf(error)}`);
  }
}

/** The code of a failure, as S3 or the system names it: `NoSuchBucket`, `ECONNREFUSED`. */
export function faultCode(error: unknown): string {
  const { name, code, Code } = (error ?? {}) as { name?: unknown; code?: unknown; Code?: unknown };
  const text = [Code, code, name].find((one) => typeof one === 'string' && one !== 'Error');
  return String(text ?? 'Error')
    .replace(/[^\w.-]/g, '')
    .slice(0, 64);
}

/** The HTTP status of an answer; 0 without one. */
export function faultStatus(error: unknown): number {
  const { $metadata } = (error ?? {}) as { $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode ?? 0;
}

const CREDENTIALS =
  'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role';
const RIGHTS =
  's3:ListBucket and s3:ListBucketMultipartUploads on the bucket, s3:GetObject, s3:PutObject and s3:AbortMultipartUpload on its objects';
const REGION = 'the bucket is in another region: set AWS_REGION, or add ?region= to the address';

const REMEDIES: Readonly<Record<string, string>> = {
  CredentialsProviderError: `no usable credentials were found; ${CREDENTIALS}`,
  InvalidAccessKeyId: `the server does not know the access key; ${CREDENTIALS}`,
  XAdminUserNotFound: `the server does not know the access key; ${CREDENTIALS}`,
  SignatureDoesNotMatch: `the secret does not fit the access key; ${CREDENTIALS}`,
  ExpiredToken: `the credentials have expired; ${CREDENTIALS}`,
  InvalidToken: `the session token is not valid; ${CREDENTIALS}`,
  AccessDenied: `the credentials do not allow it; they need ${RIGHTS}`,
  Forbidden: `the credentials do not allow it; they need ${RIGHTS}`,
  NoSuchBucket: 'there is no such bucket; create it, or correct its name, the region or the endpoint',
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  RequestTimeTooSkewed: 'the clock of this machine is wrong; set it',
  PreconditionFailed: 'it was changed meanwhile; run it again, and give each database a prefix of its own',
  ConditionalRequestConflict:
    'it was changed meanwhile; run it again, and give each database a prefix of its own',
};

const UNREACHABLE =
  /^(?:E(?:CONN|NOTFOUND|AI_|HOST|NET|PIPE|TIMEDOUT|PROTO)|TimeoutError|AbortError|RequestTimeout|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

function reasonOf(error: unknown): string {
  const code = faultCode(error);
  const status = faultStatus(error);
  const remedy = Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : undefined;
  if (remedy !== undefined) return `${code}, ${remedy}`;
  if (UNREACHABLE.test(code)) {
    return `${code}, the server cannot be reached; check the network, AWS_ENDPOINT_URL_S3 and the region, and run it again`;
  }
  const answer = status === 0 ? code : `${code} (HTTP ${status})`;
  if (status === 403) return `${answer}, ${REMEDIES.AccessDenied}`;
  return `${answer}; run it again`;
}
