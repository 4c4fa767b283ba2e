/** Why a schema was not compiled. */
export class SchemaRefusedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SchemaRefusedError';
  }
}

/** A text of a schema, short enough for a message. */
export function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 80);
}
