/** Why a schema was not compiled. */
export class SchemaRefusedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SchemaRefusedError';
  }
}

export class MisusedKeywordError extends SchemaRefusedError {
  constructor(message: string) {
    super(message);
    this.name = 'MisusedKeywordError';
  }
}

/** A text of a schema, short enough for a message. */
export function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 80);
}
