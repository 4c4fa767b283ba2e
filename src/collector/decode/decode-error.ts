/** Why a request cannot be read: `malformed` or `too_large`. */
export class DecodeError extends Error {
  readonly reason: 'malformed' | 'too_large';

  constructor(reason: 'malformed' | 'too_large', message: string) {
    super(message);
    this.name = 'DecodeError';
    this.reason = reason;
  }
}

export function malformed(message: string): DecodeError {
  return new DecodeError('malformed', message);
}
