import { TransformStream } from 'node:stream/web';
import { OpenAI } from 'openai';
import { Stream } from 'openai/streaming';

const end = /^data:[ \t]*\[DONE\].*$/m;
/** Lines of an event without data, by which servers and proxies keep a connection: the library would read it as JSON. */
const idle = /^(?:data:[ \t]*|event:(?![ \t]*error[ \t]*$).*)$/gm;

/** Without a client the library writes what it cannot read to the console. */
const quiet = (): OpenAI => {
  const unused = { adminAPIKey: null, organization: null, project: null, webhookSecret: null };
  return new OpenAI({ ...unused, apiKey: 'none', baseURL: 'http://none.invalid', logLevel: 'off' });
};

/** Reads the lines of a stream before the library, which ends at the mark of the end as at any other end. */
export class EventLines {
  /** The server said that its stream is whole. */
  isWhole = false;
  /** The line that is not whole yet, in the pieces in which it came. */
  #held: string[] = [];

  /** The values of the events, of any names. @throws APIError for an error in their place */
  events(response: Response): AsyncIterable<unknown> {
    return Stream.fromSSEResponse<unknown>(this.#of(response), new AbortController(), quiet());
  }

  #of(response: Response): Response {
    const lines = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, controller) => {
        const text = this.#next(piece);
        if (text !== '') controller.enqueue(Buffer.from(text, 'latin1'));
      },
      flush: (controller) => controller.enqueue(Buffer.from(this.#read(this.#held.join('')), 'latin1')),
    });
    const { status, headers, body } = response;
    return new Response(body?.pipeThrough(lines) ?? null, { status, headers });
  }

  /** Takes the lines that are whole with a piece; bytes are one letter each, so that none is split. */
  #next(piece: Uint8Array): string {
    const text = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1');
    const after = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
    if (after === 0) {
      this.#held.push(text);
      return '';
    }
    const whole = this.#held.join('') + text.slice(0, after);
    this.#held = [text.slice(after)];
    return this.#read(whole);
  }

  #read(lines: string): string {
    this.isWhole ||= end.test(lines);
    return lines.replace(end, 'data: [DONE]').replace(idle, ':');
  }
}
