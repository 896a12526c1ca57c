// agent-image, models: fence around foreign text in a prompt. May import base, protocol and kube.
import { createHash } from 'node:crypto';

/**
 * Encloses foreign text (output of programs, content of files) between two lines that it cannot contain: they carry a
 * digest of it. So no text can end its own block and continue as an instruction.
 */
export function fenced(title: string, text: string): string {
  const mark = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return `--- ${title} (data ${mark})\n${text}\n--- end of data ${mark}`;
}
