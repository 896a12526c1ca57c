import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { PackTask } from '../format/index.ts';

/** Programs that a task needs and that are not on the PATH. */
export async function missingPrograms({ needs }: Pick<PackTask, 'needs'>, path = process.env['PATH'] ?? ''): Promise<string[]> {
  const found = await Promise.all(needs.map((name) => isThere(name, path)));
  return needs.filter((_, at) => found[at] !== true);
}

async function isThere(name: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    const there = await access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (there) return true;
  }
  return false;
}
