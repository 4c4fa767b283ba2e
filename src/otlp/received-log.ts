import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { LOGS_REQUEST, MessageOf, ReceivedAttributes } from './otlp-messages.ts';
import { receivedResource } from './received-span.ts';

/** A received log record with its resource. */
export interface ReceivedLog {
  /** When it happened; where the sender gave no time, when it was observed. */
  readonly time: HrTime;
  /** Empty if the sender names events by an attribute instead. */
  readonly eventName: string;
  readonly body: unknown;
  readonly attributes: ReceivedAttributes;
  readonly resource: ReadableSpan['resource'];
}

/** The log records of a request, in its order. */
export function listLogs({ resourceLogs }: MessageOf<typeof LOGS_REQUEST>): ReceivedLog[] {
  return resourceLogs.flatMap(({ resource: { attributes }, schemaUrl, scopeLogs }) => {
    const resource = receivedResource(attributes, schemaUrl);
    return scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map((record) => ({
        time: isZero(record.timeUnixNano) ? record.observedTimeUnixNano : record.timeUnixNano,
        eventName: record.eventName,
        body: record.body,
        attributes: record.attributes,
        resource,
      })),
    );
  });
}

function isZero([seconds, nanos]: HrTime): boolean {
  return seconds === 0 && nanos === 0;
}
