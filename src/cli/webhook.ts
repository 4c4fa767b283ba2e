import type { WebhookOptions } from '../ui/index.ts';

/** The webhook of a flag, with its secret from the environment: an argument can be seen by every user of the machine. */
export function findWebhook(
  url: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): WebhookOptions | undefined {
  if (url === undefined) return undefined;
  return { url, secret: env.MCP_OBSERVATORY_WEBHOOK_SECRET || undefined };
}
