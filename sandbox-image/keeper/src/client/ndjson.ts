import { StringDecoder } from 'node:string_decoder';
import { parseAnswer } from './answer.ts';
import { maxLineCharacters } from './bounds.ts';
import { KeeperRefusal } from './errors.ts';

/**
 * Splits a byte stream into JSON values, one a line (NDJSON). A last line without its newline is
 * a torn answer and is refused, so that a cut connection never looks like an end.
 *
 * @throws KeeperRefusal `AF_ANSWER_TOO_LARGE`, `AF_ANSWER_MALFORMED`
 */
export async function* readLines<T>(source: AsyncIterable<Uint8Array>): AsyncGenerator<T> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source) {
    rest += decoder.write(Buffer.from(chunk));
    let from = 0;
    for (let at = rest.indexOf('\n', from); at >= 0; at = rest.indexOf('\n', from)) {
      if (at > from) yield parseAnswer(rest.slice(from, at), 'a line') as T;
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > maxLineCharacters)
      throw KeeperRefusal.ofAnswer('AF_ANSWER_TOO_LARGE', `a line has more than ${maxLineCharacters} characters`);
  }
  if (rest.length > 0) throw new Error('the NDJSON stream was cut in the middle of a line');
}
