/** Whether `OTEL_SDK_DISABLED=true`: nothing is hooked and nothing started. Imports nothing, so that nothing is loaded. */
export function isDisabled(environment: Readonly<Record<string, string | undefined>>): boolean {
  return environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';
}
