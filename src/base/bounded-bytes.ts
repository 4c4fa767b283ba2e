/**
 * Reads a body of at most so many bytes.
 * @param exceeded makes the error for a longer one, of which no more is read.
 */
export async function readBytes(
  body: AsyncIterable<unknown>,
  maxBytes: number,
  exceeded: (bytes: number) => Error,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw exceeded(bytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
