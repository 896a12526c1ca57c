// `node hack/bootstrap.mjs hack/cli.ts FOLDER`: bundles the command line tool and puts `fleet` and `kubectl-fleet` into
// FOLDER, which then belongs on the PATH. They run on the pinned Node of this repository.
// `--package FOLDER`: writes a package for npm instead, one file that runs on any Node from 24 on.
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { bundleProgram } from './bundle.ts';

const checkout = resolve(import.meta.dirname, '..');
const names = ['fleet', 'kubectl-fleet'];
const file = 'fleet.mjs';

/** Writes the bundle, which is a program by itself, into a folder that is made when it is missing; returns its path. */
async function writeBundle(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const bundle = join(folder, file);
  await writeFile(bundle, `#!/usr/bin/env node\n${await bundleProgram(join(checkout, 'cli', 'src', 'main.ts'))}`);
  await chmod(bundle, 0o755);
  return bundle;
}

/** Writes the tool into a folder, which is made when it is missing; returns the path of `kubectl-fleet`. */
export async function installCli(folder: string): Promise<string> {
  const target = resolve(folder);
  const bundle = await writeBundle(target);
  const quoted = (path: string): string => `'${path.replaceAll("'", String.raw`'\''`)}'`;
  for (const name of names) {
    await writeFile(
      join(target, name),
      `#!/bin/sh\n[ -n "$AGENTFLEET_CHECKOUT" ] || AGENTFLEET_CHECKOUT=${quoted(checkout)}\nexport AGENTFLEET_CHECKOUT\nexec ${quoted(process.execPath)} ${quoted(bundle)} "$@"\n`,
    );
    await chmod(join(target, name), 0o755);
  }
  return join(target, 'kubectl-fleet');
}

/** Writes what `npm publish FOLDER` and `npm install --global FOLDER` take. */
export async function packCli(folder: string): Promise<string> {
  const target = resolve(folder);
  await writeBundle(target);
  const { version, license } = JSON.parse(await readFile(join(checkout, 'cli', 'package.json'), 'utf8')) as Record<string, string>;
  const manifest = {
    name: 'kubectl-fleet',
    version,
    description: 'What people do with agent tasks of AgentFleet: fleet, and kubectl fleet',
    license,
    type: 'module',
    bin: Object.fromEntries(names.map((name) => [name, file])),
    engines: { node: '>=24' },
    files: [file],
  };
  await writeFile(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await copyFile(join(checkout, 'LICENSE'), join(target, 'LICENSE'));
  await copyFile(join(checkout, 'docs', 'reference', 'cli.md'), join(target, 'README.md'));
  return target;
}

if (process.argv[1] === import.meta.filename) {
  const [first, second] = process.argv.slice(2);
  const folder = first === '--package' ? second : first;
  if (folder === undefined) throw new Error('name the folder: node hack/bootstrap.mjs hack/cli.ts [--package] FOLDER');
  console.log(await (first === '--package' ? packCli(folder) : installCli(folder)));
}
