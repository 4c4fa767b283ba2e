import { importPeer, loadPeer } from '../../base/index.ts';
import type { S3Address } from './s3-address.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

/** A bucket and the client that asks for it. */
export interface Bucket extends Disposable {
  readonly sdk: Sdk;
  readonly client: InstanceType<Sdk['S3Client']>;
  readonly address: S3Address;
  /** As messages name it. */
  readonly name: string;
  /** After how long without a byte a connection is given up. */
  readonly idleMs: number;
}

const CONNECT_MS = 5_000;
const IDLE_MS = 60_000;
const ATTEMPTS = 4;
/** What a request is signed for where nothing names a region; servers other than Amazon's seldom care. */
const DEFAULT_REGION = 'us-east-1';

/**
 * Opens a client with the optional package `@aws-sdk/client-s3`, which finds credentials, region and endpoint as all of
 * Amazon's tools do: in environment variables, profiles, and what the machine or pod was given. Nothing is sent yet.
 *
 * @throws ObservatoryError `MISSING_PEER` when it is not installed.
 */
export async function openBucket(address: S3Address, idleMs: number = IDLE_MS): Promise<Bucket> {
  const sdk = await loadPeer('@aws-sdk/client-s3', () => importPeer<Sdk>('@aws-sdk/client-s3'), {
    neededFor: 'An archive in S3',
  });
  const { endpoint, region, isPathStyle, bucket, prefix } = address;
  const make = (of: string | undefined) =>
    new sdk.S3Client({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(of === undefined ? {} : { region: of }),
      forcePathStyle: isPathStyle,
      followRegionRedirects: true,
      maxAttempts: ATTEMPTS,
      // Each upload has a SHA-256 of ours; older servers refuse the form that the client adds by itself.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: idleMs },
    });
  let client = make(region);
  try {
    await client.config.region();
  } catch {
    client.destroy();
    client = make(DEFAULT_REGION);
  }
  return {
    sdk,
    client,
    address,
    name: `s3://${bucket}/${prefix}`.replace(/\/$/, ''),
    idleMs,
    [Symbol.dispose]: () => client.destroy(),
  };
}
