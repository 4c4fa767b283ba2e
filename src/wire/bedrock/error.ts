import { numberAt, objectAt, stringAt } from '../../json/index.ts';
import { type ErrorReport, firstCode } from '../contract/index.ts';

/** Reads a `ServiceException` of the AWS SDK: `{name: 'ThrottlingException', $metadata: {httpStatusCode}, message}`. */
export function readBedrockError(error: unknown): ErrorReport | undefined {
  const metadata = objectAt(error, '$metadata');
  if (metadata === undefined || stringAt(error, '$fault') === undefined) return undefined;
  return {
    code: firstCode(stringAt(error, 'name')),
    message: stringAt(error, 'message'),
    status: numberAt(metadata, 'httpStatusCode') ?? numberAt(error, 'originalStatusCode'),
  };
}
