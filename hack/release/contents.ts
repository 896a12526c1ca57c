// hack, release: packages inside an image. May import any package.
import { execa } from 'execa';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';

/** One package in an image. */
export interface Package {
  readonly type: 'npm' | 'deb' | 'golang' | 'generic';
  readonly name: string;
  readonly version: string;
  /** As the package declares it; undefined: it does not, or not as one identifier. */
  readonly licence?: string;
}

/** Line between the licences of two packages, as `hack/images/licences.ts` writes it. */
const divider = `\n\n${'-'.repeat(80)}\n\n`;

/** npm packages in a bundle, by the file of licences beside it. Pure. */
export function bundled(licences: string): readonly Package[] {
  return licences.split(divider).flatMap((text): readonly Package[] => {
    const [, name, version, licence] = /^(\S+) (\S+) \(([^\n]*)\)\n/.exec(`${text}\n`) ?? [];
    return name === undefined || version === undefined ? [] : [{ type: 'npm', name, version, ...(licence && { licence }) }];
  });
}

/** Debian packages in control records. Pure. */
export function debian(records: string): readonly Package[] {
  return records.split(/\n\s*\n/).flatMap((record): readonly Package[] => {
    const name = /^Package: (.*)$/m.exec(record)?.[1];
    const version = /^Version: (.*)$/m.exec(record)?.[1];
    return name === undefined || version === undefined ? [] : [{ type: 'deb', name, version }];
  });
}

/** Returns the Go modules in the output of `go version -m`, Go's own library among them. Pure. */
export function goModules(text: string): readonly Package[] {
  const go = /: go(\S+)$/m.exec(text)?.[1];
  const modules = [...text.matchAll(/^\tdep\t(\S+)\tv(\S+)/gm)].map(([, name = '', version = '']): Package => ({
    type: 'golang',
    name,
    version,
  }));
  return [...(go === undefined ? [] : [{ type: 'golang', name: 'stdlib', version: go, licence: 'BSD-3-Clause' } as const]), ...modules];
}

/** An installed npm package by its `package.json`; old ones have a list of licences, whose names are not SPDX's. Pure. */
export function installed(manifest: string): readonly Package[] {
  const { name, version, license, licenses } = JSON.parse(manifest) as Readonly<Record<string, unknown>>;
  const [old] = Array.isArray(licenses) ? (licenses as readonly { readonly type?: unknown }[]) : [];
  const licence = license ?? (typeof old?.type === 'string' ? old.type.replace('Apache 2.0', 'Apache-2.0') : undefined);
  if (typeof name !== 'string' || typeof version !== 'string') return [];
  return [{ type: 'npm', name, version, ...(typeof licence === 'string' && { licence }) }];
}

/** Files of an image that list its content, and their readers. */
const readers: readonly (readonly [RegExp, (content: Buffer) => readonly Package[] | Promise<readonly Package[]>])[] = [
  [/^opt\/agentfleet\/[^/]+\.LICENSES$/, (content) => bundled(content.toString('utf8'))],
  [/^var\/lib\/dpkg\/status(\.d\/[^/]+)?$/, (content) => debian(content.toString('utf8'))],
  [/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/, (content) => installed(content.toString('utf8'))],
  [/^(opt\/agentfleet\/runner|usr\/local\/bin\/versitygw)$/, inBinary],
];

async function inBinary(content: Buffer): Promise<readonly Package[]> {
  const folder = await mkdtemp(join(tmpdir(), 'release-'));
  try {
    const file = join(folder, 'program');
    await writeFile(file, content);
    return goModules((await execa('go', ['version', '-m', file])).stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns all packages in the file system of an image, a tar archive, each once and sorted. Node is added as `node`. */
export async function packagesIn(archive: string, node: string): Promise<readonly Package[]> {
  const found: Package[] = [];
  const reader = extract();
  const reading = pipeline(createReadStream(archive), reader);
  for await (const entry of reader) {
    const path = entry.header.name.replace(/^\.?\//, '');
    const read = entry.header.type === 'file' ? readers.find(([pattern]) => pattern.test(path))?.[1] : undefined;
    if (read !== undefined) found.push(...(await read(await buffer(entry))));
    else entry.resume();
    if (path === 'usr/local/bin/node') found.push({ type: 'generic', name: 'node', version: node, licence: 'MIT' });
  }
  await reading;
  const key = ({ type, name, version }: Package): string => `${type} ${name} ${version}`;
  return [...new Map(found.map((one) => [key(one), one])).values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
