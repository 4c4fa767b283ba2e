import type { WireProvider } from '../contract/index.ts';
import { openAiChat, openAiResponses } from './apis.ts';
import { connectOpenAi } from './connect.ts';
import { readReportedCost } from './usage.ts';

export { openAiChat, openAiResponses, readReportedCost };

export const openAi: WireProvider = {
  key: 'openai',
  name: 'openai',
  defaultModel: 'gpt-5.4-mini',
  toolDialect: 'openai',
  apis: [openAiResponses, openAiChat],
  connect: connectOpenAi,
};
