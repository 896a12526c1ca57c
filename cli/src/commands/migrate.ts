import { writeFile } from 'node:fs/promises';
import { CliError, readNamed } from '../base/failure.ts';
import { migrate as migrateText } from '../migrate/manifest.ts';
import { printable } from '@agentfleet/protocol/text';
import type { LocalContext } from './command.ts';

interface MigrateFlags {
  /** Only print what would change. */
  readonly dryRun?: boolean;
}

/** Rewrites files of manifests to the API of this version. A file of which a part cannot be rewritten stays as it is. */
export async function migrate({ print }: LocalContext, files: readonly string[], { dryRun = false }: MigrateFlags): Promise<void> {
  const refused: string[] = [];
  for (const file of files) {
    const { text, changes, refusals } = migrateText(await readNamed(file, 'name a file of manifests'));
    for (const line of refusals) print(`${file}: refused: ${printable(line)}`);
    if (refusals.length > 0) {
      refused.push(file);
      continue;
    }
    for (const line of changes) print(`${file}: ${printable(line)}`);
    if (changes.length === 0) print(`${file}: nothing to change`);
    else if (!dryRun) await writeFile(file, text);
  }
  if (refused.length > 0) throw new CliError(`${refused.join(', ')}: not rewritten; change the fields above, and migrate again`);
}
