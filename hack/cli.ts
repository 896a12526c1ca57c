// `node hack/bootstrap.mjs hack/cli.ts FOLDER`: bundles the command line tool and puts `fleet` and `kubectl-fleet` into
// FOLDER, which then belongs on the PATH. They run on the pinned Node of this repository.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { bundleProgram } from './bundle.ts';

/** Writes the tool into a folder, which is made when it is missing; returns the path of `kubectl-fleet`. */
export async function installCli(folder: string): Promise<string> {
  const target = resolve(folder);
  const checkout = resolve(import.meta.dirname, '..');
  await mkdir(target, { recursive: true });
  const bundle = join(target, 'fleet.mjs');
  await writeFile(bundle, await bundleProgram(join(import.meta.dirname, '..', 'cli', 'src', 'main.ts')));
  const quoted = (path: string): string => `'${path.replaceAll("'", String.raw`'\''`)}'`;
  for (const name of ['fleet', 'kubectl-fleet']) {
    await writeFile(
      join(target, name),
      `#!/bin/sh\n[ -n "$AGENTFLEET_CHECKOUT" ] || AGENTFLEET_CHECKOUT=${quoted(checkout)}\nexport AGENTFLEET_CHECKOUT\nexec ${quoted(process.execPath)} ${quoted(bundle)} "$@"\n`,
    );
    await chmod(join(target, name), 0o755);
  }
  return join(target, 'kubectl-fleet');
}

if (process.argv[1] === import.meta.filename) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name the folder: node hack/bootstrap.mjs hack/cli.ts FOLDER');
  console.log(await installCli(folder));
}
