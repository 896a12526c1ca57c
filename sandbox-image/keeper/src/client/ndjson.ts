import { StringDecoder } from 'node:string_decoder';

/** Longest line that {@link readLines} accepts, in characters. */
const maxLine = 4 * 1024 * 1024;

/**
 * Splits a byte stream into JSON values, one a line (NDJSON). A last line without its newline is
 * a torn answer and is refused, so that a cut connection never looks like an end.
 */
export async function* readLines<T>(source: AsyncIterable<Uint8Array>): AsyncGenerator<T> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source) {
    rest += decoder.write(Buffer.from(chunk));
    let from = 0;
    for (let at = rest.indexOf('\n', from); at >= 0; at = rest.indexOf('\n', from)) {
      if (at > from) yield JSON.parse(rest.slice(from, at)) as T;
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > maxLine) throw new Error(`NDJSON line over ${maxLine} characters`);
  }
  if (rest.length > 0) throw new Error('the NDJSON stream was cut in the middle of a line');
}
