import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** What an attempt in a local pool depends on, below the checkout. */
export const poolSources: readonly string[] = [
  'protocol/src',
  'agent-image/src',
  'inference-image/src',
  'inference-image/weights',
  'sandbox-image/keeper/src',
  'sandbox-image/runner',
];

/** Of all files of folders that are no tests, by path and content. */
export async function digestOfFolders(checkout: string, folders: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of folders) {
    const entries = await readdir(join(checkout, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter(
      (entry) => entry.isFile() && !/[._]test\.(ts|go)$/.test(entry.name) && !entry.parentPath.includes('node_modules'),
    );
    const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
    for (const path of paths) {
      hash.update(`${relative(checkout, path)}\0`);
      hash.update(await readFile(path));
    }
  }
  return hash.digest('hex');
}
