import { remembered } from './remembered.ts';

export interface ServerAddress {
  readonly address: string;
  readonly port: number | undefined;
}

/** Host and port of a base URL, with the scheme's default port; nothing for a text that is no URL. */
export function serverAddress(baseUrl: unknown): ServerAddress | undefined {
  return typeof baseUrl === 'string' ? addressOf(baseUrl) : undefined;
}

const addressOf = remembered(parse);

function parse(baseUrl: string): ServerAddress | undefined {
  try {
    const url = new URL(baseUrl);
    const port = url.port === '' ? { 'https:': 443, 'http:': 80 }[url.protocol] : Number(url.port);
    return { address: url.hostname, port };
  } catch {
    return undefined;
  }
}
