/** Collects a body. @throws what `tooLarge` returns, as soon as it has more than `maxBytes` */
export async function bytesWithin(maxBytes: number, body: AsyncIterable<Uint8Array>, tooLarge: (bytes: number) => Error): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(bytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The same, as UTF-8. */
export async function textWithin(maxBytes: number, body: AsyncIterable<Uint8Array>, tooLarge: (bytes: number) => Error): Promise<string> {
  return (await bytesWithin(maxBytes, body, tooLarge)).toString('utf8');
}

/** Reads a `Retry-After` of seconds; 0 for another one, or none. */
export function retryAfterMs(header: string | readonly string[] | null | undefined): number {
  const seconds = Number(header ?? 0);
  return Number.isFinite(seconds) ? Math.max(0, seconds) * 1000 : 0;
}

/** The value of a JSON text; undefined for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
