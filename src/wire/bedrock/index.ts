import { type AnswerApi, defineApi } from '../contract/index.ts';
import { isConverse, readConverse } from './converse.ts';
import { ConverseStream } from './converse-stream.ts';
import { readBedrockError } from './error.ts';
import { InvokeStream, readInvokeAnswer } from './invoke.ts';

export { BEDROCK_NAME } from './converse.ts';
export { readInvokeBody } from './invoke.ts';

const SHARED = { readError: readBedrockError };

/** `Converse` and `ConverseStream`, one form for all models. */
export const bedrockConverse: AnswerApi = defineApi({
  ...SHARED,
  name: 'bedrock.converse',
  recognizes: isConverse,
  readAnswer: readConverse,
  newStream: () => new ConverseStream(),
});

/** `InvokeModel` and its stream, whose bodies have the form of the model. */
export const bedrockInvoke: AnswerApi = defineApi({
  ...SHARED,
  name: 'bedrock.invoke_model',
  recognizes: (value) => value.body instanceof Uint8Array && '$metadata' in value,
  readAnswer: readInvokeAnswer,
  newStream: () => new InvokeStream(),
});
