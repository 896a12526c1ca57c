import { TransformStream } from 'node:stream/web';
import { Response } from 'undici';

type Fetch = typeof globalThis.fetch;

/** Returns a `fetch` whose caller sees each piece of an answer's body, decoded, before its reader does. */
export function observed(fetch: Fetch, onPiece: (piece: Uint8Array) => void): Fetch {
  const read = async (...[url, init]: Parameters<Fetch>): Promise<Response> => {
    const { body, status, statusText, headers } = (await fetch(url, init)) as unknown as Response;
    const observing = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, controller) => {
        onPiece(piece);
        controller.enqueue(piece);
      },
    });
    return new Response(body === null ? null : body.pipeThrough(observing), { status, statusText, headers });
  };
  return read;
}
