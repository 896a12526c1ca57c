// `node hack/packages.ts OUT VERSION`: what a release publishes for npm.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { packCli, packClient } from './cli.ts';

const packers = { fleet: packCli, client: packClient } as const;

/**
 * Packs `fleet` and the typed client for npm under a version.
 *
 * @param out where the archives go; it exists
 * @returns the names of the archives, as `kubectl-fleet-0.1.0.tgz`, which `npm install --global FILE` and `npm publish FILE` take
 */
export async function writePackages(out: string, version: string): Promise<readonly string[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'release-packages-'));
  try {
    const names: string[] = [];
    for (const [name, packed] of Object.entries(packers)) {
      const folder = await packed(join(scratch, name), version);
      const { stdout } = await execa('npm', ['pack', folder, '--pack-destination', out, '--json', '--ignore-scripts', '--offline']);
      names.push(...(JSON.parse(stdout) as readonly { readonly filename: string }[]).map(({ filename }) => filename));
    }
    return names;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const [out, version] = process.argv.slice(2);
  if (out === undefined || version === undefined) throw new Error('name folder and version: node hack/packages.ts OUT VERSION');
  for (const name of await writePackages(resolve(out), version)) console.log(name);
}
