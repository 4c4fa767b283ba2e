/** Host of a base URL, for telemetry; nothing for a text that is no URL. */
export function hostOf(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return undefined;
  return new URL(baseUrl).hostname;
}
