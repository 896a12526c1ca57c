import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../agent-image/src/coverage/python', import.meta.url));

/** The Python files of the line tracer as JSON, path → content: a bundle can hold that. */
export function tracerFiles(): string {
  const paths = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.py'));
  const files = Object.fromEntries(paths.sort().map((path) => [path, readFileSync(join(source, path), 'utf8')]));
  return `${JSON.stringify(files, null, 2)}\n`;
}
