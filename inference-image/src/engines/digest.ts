import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/**
 * Digest of an engine's code and weights: `sha256:` over names and contents in the order of the
 * names. Inside the image the code is the bundle; from the sources it is the engine's folder
 * without tests.
 *
 * @param folder the engine's folder, when run from the sources
 * @param weights files that determine answers besides the code
 * @param settings what else determines them, as text
 */
export async function codeDigest(folder: string, weights: readonly string[], settings = ''): Promise<string> {
  const own = import.meta.filename;
  const sources = own.endsWith('.ts') ? await sourcesOf(join(dirname(own), folder)) : [own];
  const hash = createHash('sha256');
  for (const file of [...sources, ...weights]) {
    const content = await readFile(file);
    hash.update(`${relative(dirname(own), file).split('/').at(-1)}\n${content.length}\n`).update(content);
  }
  return `sha256:${hash.update(settings).digest('hex')}`;
}

async function sourcesOf(folder: string): Promise<readonly string[]> {
  const files: string[] = [];
  for await (const name of glob('**/*.ts', { cwd: folder }))
    if (!name.endsWith('.test.ts') && !name.includes('evaluation/')) files.push(name);
  return files.sort().map((name) => join(folder, name));
}
