// `node hack/bootstrap.mjs hack/cli.ts FOLDER`: bundles the command line tool and writes `fleet` and `kubectl-fleet` to
// FOLDER, which then belongs on the PATH. They run on the pinned Node of this repository. `--package FOLDER`: writes a
// package for npm instead, one file that runs on any Node from 24 on. `--client FOLDER`: writes the package of the
// typed client, with its types. `--release FOLDER VERSION`: writes both as archives for npm.
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { execa } from 'execa';
import { bundleCommand, bundleProgram } from './bundle.ts';
import { dashboardPage } from './images/page.ts';

const checkout = resolve(import.meta.dirname, '..');
const names = ['fleet', 'kubectl-fleet'];
const file = 'fleet.cjs';
/** Folder of the dashboard's page, beside the bundle. */
const page = 'dashboard';

/** Writes the bundle, which is a program by itself, into a folder that is made when it is missing; returns its path. */
async function writeBundle(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const bundle = join(folder, file);
  await writeFile(bundle, `#!/usr/bin/env node\n${await bundleCommand(join(checkout, 'cli', 'src', 'main.ts'))}`);
  await chmod(bundle, 0o755);
  for (const { name, content } of (await dashboardPage()).files) {
    const place = join(folder, page, name);
    await mkdir(dirname(place), { recursive: true });
    await copyFile(content.file, place);
  }
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

/**
 * Writes a package for `npm publish FOLDER` and `npm install --global FOLDER`. @param as its version; default: that of
 * the sources
 */
export async function packCli(folder: string, as?: string): Promise<string> {
  const target = resolve(folder);
  await writeBundle(target);
  const { version, license } = JSON.parse(await readFile(join(checkout, 'cli', 'package.json'), 'utf8')) as Record<string, string>;
  const manifest = {
    name: 'kubectl-fleet',
    version: as ?? version,
    description: 'Command line of AgentFleet for people: fleet, and kubectl fleet',
    license,
    bin: Object.fromEntries(names.map((name) => [name, file])),
    engines: { node: '>=24' },
    files: [file, page],
  };
  await writeFile(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await copyFile(join(checkout, 'LICENSE'), join(target, 'LICENSE'));
  await copyFile(join(checkout, 'docs', 'reference', 'cli.md'), join(target, 'README.md'));
  return target;
}

/** Files of the client with its public types; they import only each other. */
const typed = ['index', 'connect', 'errors', 'public', 'types'] as const;

/** Writes a package for `npm publish FOLDER` of `@agentfleet/client`. @param as its version; default: that of the sources */
export async function packClient(folder: string, as?: string): Promise<string> {
  const target = resolve(folder);
  const sources = join(checkout, 'client', 'src');
  await mkdir(target, { recursive: true });
  await writeFile(join(target, 'index.mjs'), await bundleProgram(join(sources, 'index.ts')));
  const scratch = await mkdtemp(join(tmpdir(), 'client-types-'));
  try {
    const project = { extends: join(checkout, 'tsconfig.json'), include: [`${sources}/index.ts`], exclude: [] };
    const emit = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: join(scratch, 'out'), rootDir: checkout };
    const options = { ...emit, typeRoots: [join(checkout, 'node_modules', '@types')] };
    await writeFile(join(scratch, 'tsconfig.json'), JSON.stringify({ ...project, compilerOptions: options }));
    await execa('tsc', ['-p', join(scratch, 'tsconfig.json')], { localDir: checkout, preferLocal: true });
    for (const name of typed) {
      const text = await readFile(join(scratch, 'out', 'client', 'src', `${name}.d.ts`), 'utf8');
      await writeFile(join(target, `${name}.d.ts`), text.replaceAll(/from '(\.\/\w+)\.ts'/g, "from '$1.js'"));
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  const { name, version, license } = JSON.parse(await readFile(join(checkout, 'client', 'package.json'), 'utf8')) as Record<string, string>;
  const manifest = {
    name,
    version: as ?? version,
    description: 'Agent tasks of AgentFleet from TypeScript: create, follow, decide, fetch results',
    license,
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.mjs' } },
    engines: { node: '>=24' },
    files: ['index.mjs', '*.d.ts'],
  };
  await writeFile(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await copyFile(join(checkout, 'LICENSE'), join(target, 'LICENSE'));
  await copyFile(join(checkout, 'client', 'README.md'), join(target, 'README.md'));
  return target;
}

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

const writers: Readonly<Record<string, (folder: string) => Promise<string>>> = { '--package': packCli, '--client': packClient };

if (process.argv[1] === import.meta.filename) {
  const [first, second, third] = process.argv.slice(2);
  const write = writers[first ?? ''];
  const folder = write === undefined ? first : second;
  if (folder === undefined)
    throw new Error('name the folder: node hack/bootstrap.mjs hack/cli.ts [--package | --client] FOLDER, or --release FOLDER VERSION');
  if (first !== '--release') console.log(await (write ?? installCli)(folder));
  else if (second === undefined || third === undefined) throw new Error('name folder and version: hack/cli.ts --release FOLDER VERSION');
  else console.log((await writePackages(resolve(second), third)).join('\n'));
}
