export type { WebhookOptions } from './announce.ts';
export { type Page, type PageOptions, type SenderSettings, startPage } from './server.ts';
