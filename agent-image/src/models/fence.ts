import { createHash } from 'node:crypto';

/**
 * Text of others (output of programs, content of files) between two lines that it cannot contain: they carry a digest of it.
 * So no text ends its own block and goes on as an order.
 */
export function fenced(title: string, text: string): string {
  const mark = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return `--- ${title} (data ${mark})\n${text}\n--- end of data ${mark}`;
}
